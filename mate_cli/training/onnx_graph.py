"""A trained model as one ONNX graph, from padded batches of integers to the logits of its head.

The graph makes the masks of the row heads and column heads itself, so its memory is quadratic in the length.

::

    input_ids, attention_mask, position_ids   int64 [batch, tokens]
    token_type_ids                            int64 [batch, tokens, 7], rows and columns not clamped
    the fields of the model's logits          float32, as for a batch of ``mate_cli.encoding.padded``
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from mate_cli.attention.padded import PaddedPlan, attend_padded
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.features import TOKEN_TYPES
from mate_cli.encoding.padded import padded_batch
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.encoder import Attention
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.self_attention import PatternAttention
from mate_cli.models.variants import VARIANTS
from mate_cli.models.weights import write_config
from mate_cli.runs.folder import GRAPH
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError
from mate_cli.tasks.task import Task
from mate_cli.training.backend import inference_backend

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
MAX_TOKENS = "max_tokens"
"""Name in the metadata of the file: the most tokens of an input."""

_OPSET = 20
_QUANTISED = ("model.tapas.encoder.", "model.tapas.embeddings.word_embeddings.")
_EXAMPLE = tuple(torch.ones(2, 8, *last, dtype=torch.int64) for last in ((), (), (len(TOKEN_TYPES),), ()))


class PaddedAttention(nn.Module):
    """``PatternAttention`` of a padded batch, its projections joined to one matrix that can be quantised."""

    def __init__(self, attention: PatternAttention) -> None:
        super().__init__()
        weight, bias = attention.grouped("weight"), attention.grouped("bias")
        outputs, inputs = weight.shape
        self.pattern, self.projection = attention.pattern, nn.Linear(inputs, outputs, dtype=weight.dtype)
        self.projection.load_state_dict({"weight": weight, "bias": bias})

    def forward(self, states_TH: Tensor, plan: PaddedPlan) -> Tensor:
        return attend_padded(self.projection(states_TH), plan, self.pattern)


class Graph(nn.Module):
    """The logits of a padded batch; takes the model over.

    Args:
        model: with attention by a pattern (``MateConfig.pattern``).
    """

    def __init__(self, model: MatePreTrainedModel, task: Task) -> None:
        super().__init__()
        self.kinds, self.model, self.task = model.config.pattern().kinds, model, task
        for module in list(model.modules()):
            if isinstance(module, Attention):
                assert isinstance(module.self, PatternAttention)
                module.self = PaddedAttention(module.self)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, position_ids: Tensor
    ) -> Tensor | tuple[Tensor, ...]:
        batch = padded_batch(input_ids, attention_mask, token_type_ids, position_ids, self.kinds)
        logits: Tensor | tuple[Tensor, ...] = self.task.logits(self.model, batch)
        return logits

    def outputs(self, *inputs: Tensor) -> Sequence[str]:
        """The names of the outputs: the fields of the logits, or ``logits``."""
        return getattr(self(*inputs), "_fields", ("logits",))


def check_graph(trained: TrainConfig) -> None:
    """Check that there is a graph for the model of a run, and what makes it.

    Raises:
        UserError: the model answers no questions by itself, its attention has no dense mask, or the libraries are not
            installed.
    """
    if kind_of(trained.task).answering is None:
        raise UserError(f"format=onnx: a run of task={trained.task.name} answers nothing by itself; leave format out")
    if VARIANTS[trained.model.heads].planner is not None or inference_backend(trained.model) == "bucketed":
        raise UserError(
            f"format=onnx: the attention of model={trained.model.name} is no dense mask; export a run of model=mate, "
            "mate_rows, mate_columns, tapas or sat, or leave format out"
        )
    if any(find_spec(package) is None for package in ("onnx", "onnxruntime", "onnxscript")):
        raise UserError(f"format=onnx needs onnx, onnxruntime and onnxscript; {install_command('onnx')}")


def write_graph(model: MatePreTrainedModel, folder: Path, config: TrainConfig, int8: bool) -> None:
    """Write ``config.json`` and the graph of a model, which is of no use afterwards, into an existing folder.

    Args:
        config: of its training, with the most tokens of an input of the graph.
        int8: keep the weights of linear layers and the word embeddings in int8, with a scale for each column, and
            round the inputs of the layers to int8 too.

    Raises:
        OSError: a file cannot be written.
    """
    write_config(model, folder)
    graph, file = Graph(model, task_of(config)).eval(), folder / GRAPH
    shapes = [{0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}] * len(INPUTS)
    with torch.no_grad(), _quiet():
        # Not strict, the length of a tensor would be a constant.
        exported = torch.export.export(graph, _EXAMPLE, dynamic_shapes=shapes, strict=True)
        names = graph.outputs(*_EXAMPLE)
        program = torch.onnx.export(
            exported, _EXAMPLE, input_names=INPUTS, output_names=names, opset_version=_OPSET, verbose=False
        )
    assert program is not None
    program.model.metadata_props[MAX_TOKENS] = str(active_schedule(config).max_tokens)
    program.save(file, external_data=False)
    if int8:
        _quantise(file)


def _quantise(file: Path) -> None:
    """Quantise the layers of the encoder and the word embeddings; the head has few numbers, which stay float32."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    nodes = [node for node in onnx.load(file).graph.node if any(name.startswith(_QUANTISED) for name in node.input)]
    # ONNX Runtime takes a Gemm apart and gives its product this name.
    names = [node.name + ("_MatMul" if node.op_type == "Gemm" else "") for node in nodes]
    with _quiet():
        quantize_dynamic(
            file, file, ["MatMul", "Gather"], per_channel=True, weight_type=QuantType.QInt8, nodes_to_quantize=names
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what the libraries log about themselves."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
