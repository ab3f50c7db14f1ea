"""The encoder against Hugging Face's TAPAS and BERT: names, shapes, sizes and numbers."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertModel, TapasConfig, TapasForQuestionAnswering, TapasModel

from mate_cli.attention import allowed
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel

SHARED_FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_sizes",
    "reset_position_index_per_cell",
    "layer_norm_eps",
)


def tapas_twin(model: MateModel) -> TapasModel:
    fields = {name: getattr(model.config, name) for name in SHARED_FIELDS}
    twin = TapasModel(TapasConfig(**fields, attn_implementation="eager")).eval()
    twin.load_state_dict(model.state_dict())
    return twin


def random_model(config: MateConfig) -> MateModel:
    torch.manual_seed(1)
    model = MateModel(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # biases and norms, which start as zeros and ones
            parameter.data += 0.2 * torch.randn_like(parameter)
    return model


def compare(ours, theirs, attention_mask):
    real = attention_mask.bool()
    states, expected = ours.last_hidden_state[real], theirs.last_hidden_state[real]
    torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.pooler_output, theirs.pooler_output, atol=1e-5, rtol=1e-5)
    assert not ours.last_hidden_state[~real].any()


def names_and_shapes(model):
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def test_the_parameters_are_those_of_tapas():
    with torch.device("meta"):
        ours, theirs = MateModel(MateConfig()), TapasModel(TapasConfig(max_position_embeddings=512))
        selector, answerer = MateForCellSelection(MateConfig()), TapasForQuestionAnswering(TapasConfig())
    assert names_and_shapes(ours) == names_and_shapes(theirs)
    of_cells = {n: shape for n, shape in names_and_shapes(answerer).items() if "column_output" not in n}
    of_cells["tapas.embeddings.position_embeddings.weight"] = (512, 768)
    assert names_and_shapes(selector) == of_cells


@pytest.mark.parametrize(("hidden", "layers", "heads", "millions"), [(768, 12, 12, 110), (1024, 24, 16, 336)])
def test_the_sizes_are_those_of_the_paper(hidden, layers, heads, millions):
    """Appendix A.2: 110M and 340M; BERT-large with seven type tables is 336M, which the paper rounds up."""
    sizes = {"hidden_size": hidden, "num_hidden_layers": layers, "intermediate_size": 4 * hidden}
    with torch.device("meta"):
        model = MateForCellSelection(MateConfig(**sizes, num_attention_heads=heads))
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.6)


@pytest.mark.parametrize("backend", ["eager", "dense", "native", "ragged"])
@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "gelu_pytorch_tanh"])
def test_full_attention_is_tapas(small_config, padded_tables, backend, reset, activation):
    config = small_config(heads="full", reset_position_index_per_cell=reset, hidden_act=activation)
    if not reset:
        config.max_position_embeddings = padded_tables["input_ids"].shape[1]
    model = random_model(config)
    with torch.no_grad():
        ours, theirs = model(**padded_tables, backend=backend), tapas_twin(model)(**padded_tables)
    compare(ours, theirs, padded_tables["attention_mask"])


@pytest.mark.parametrize("backend", ["eager", "dense", "native", "ragged"])
@pytest.mark.parametrize("ratio", [0.0, 0.34, 0.5, 1.0])
def test_mate_is_tapas_with_a_mask_per_head(small_config, padded_tables, backend, ratio):
    """Paper section 3. The mask is additive: a boolean one does nothing in Hugging Face's TAPAS (note 41)."""
    model = random_model(small_config(row_heads_ratio=ratio))
    types, attention_mask = padded_tables["token_type_ids"], padded_tables["attention_mask"]
    mask = torch.stack([head_masks(model.config, t, m) for t, m in zip(types, attention_mask, strict=True)])
    twin = tapas_twin(model)
    with torch.no_grad():
        ours = model(**padded_tables, backend=backend)
        theirs = twin(**{**padded_tables, "attention_mask": mask})
        unmasked = twin(**padded_tables)
    compare(ours, theirs, attention_mask)
    assert (theirs.last_hidden_state - unmasked.last_hidden_state)[attention_mask.bool()].abs().max() > 0.1


def head_masks(config, types, attention_mask):
    """float ``[heads, n, n]``: 0 where a head's query may attend, a large negative number elsewhere."""
    segment, column, row = types[:, :3].T
    kinds = [group.kind for group in config.pattern().groups for _ in range(group.heads)]
    open_pairs = torch.stack([allowed(kind, row, column, segment) for kind in kinds]) & attention_mask.bool()
    return torch.zeros(open_pairs.shape).masked_fill(~open_pairs, -1e9)


def test_without_type_embeddings_it_is_bert(small_config, padded_tables):
    model = random_model(small_config(heads="full", reset_position_index_per_cell=False))
    names = set(SHARED_FIELDS) - {"type_vocab_sizes", "reset_position_index_per_cell"}
    fields = {name: getattr(model.config, name) for name in names}
    bert = BertModel(BertConfig(**fields, attn_implementation="eager")).eval()
    state = {n: t for n, t in model.state_dict().items() if "token_type" not in n}
    state["embeddings.token_type_embeddings.weight"] = torch.zeros(2, model.config.hidden_size)
    bert.load_state_dict(state)
    for number in range(7):
        getattr(model.embeddings, f"token_type_embeddings_{number}").weight.data.zero_()
    inputs = {name: padded_tables[name][:, :64] for name in ("input_ids", "attention_mask")}
    types = padded_tables["token_type_ids"][:, :64]
    with torch.no_grad():
        compare(model(**inputs, token_type_ids=types), bert(**inputs), inputs["attention_mask"])


def test_from_pretrained_keeps_what_was_saved(small_config, tmp_path):
    saved = random_model(small_config())
    saved.save_pretrained(tmp_path)
    loaded = MateModel.from_pretrained(tmp_path)
    assert loaded.config.row_heads_ratio == 0.5
    for name, tensor in saved.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    selector = MateForCellSelection.from_pretrained(tmp_path)
    assert torch.equal(selector.tapas.pooler.dense.weight, saved.pooler.dense.weight)
    assert 0.2 < selector.output_weights.std() < 0.4
    assert selector.output_bias == 0
