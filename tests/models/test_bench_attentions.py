"""The attentions of `mate bench` against dense ones whose masks and biases are made pair by pair, in 64 bits."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from mate_cli.attention import Layout
from mate_cli.attention.global_local import GlobalLocalPlanner, random_blocks
from mate_cli.attention.lsh import LshPlanner, hash_digits
from mate_cli.attention.relative import relative_plan
from mate_cli.config.model import BENCH_HEADS, HEADS
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel
from mate_cli.models.self_attention import BigBirdAttention, EtcAttention, ReformerAttention, TransformerXLAttention
from mate_cli.models.variants import VARIANTS, make_planner

HEADS_OF_TESTS = 2
CONFIG = MateConfig(hidden_size=8, num_attention_heads=HEADS_OF_TESTS)
LENGTHS = [(1,), (29,), (60, 7, 33)]


def layout(lengths, padding=0):
    """Documents one after another, each followed by padding; what stands in them does not matter here."""
    document = np.concatenate([np.r_[[n] * length, [-1] * padding] for n, length in enumerate(lengths)]).astype(int)
    zeros = np.zeros_like(document)
    return Layout(document, zeros, zeros, zeros)


def documents(batch):
    return [(int(start), int(end)) for start, end in batch.spans()]


def attention_of(kind, seed=0):
    """A module with random weights, all of them: zeros would hide mistakes."""
    torch.manual_seed(seed)
    module = kind(CONFIG).double().eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return module


def split_heads(states):
    return states.unflatten(-1, (HEADS_OF_TESTS, -1)).transpose(-2, -3)


def dense(query, key, value, bias):
    """``[heads, n, head_dim]`` and a bias ``[heads, n, n]`` to ``[n, hidden]``."""
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]) + bias
    return (scores.softmax(-1) @ value).transpose(0, 1).flatten(1)


def check(module, batch, plan, reference, tolerance=1e-10):
    """Output and all gradients, of the input and of every parameter."""
    torch.manual_seed(1)
    states = torch.randn(len(batch.document), 8, dtype=torch.float64)
    weight = torch.randn_like(states)
    results = []
    for compute in (lambda x: module(x, plan), lambda x: whole(module, x, batch, reference)):
        inputs = states.clone().requires_grad_()
        output = compute(inputs)
        gradients = torch.autograd.grad((output * weight).sum(), [inputs, *module.parameters()], allow_unused=True)
        results.append([output.detach(), *(g for g in gradients if g is not None)])
    ours, expected = results
    assert len(ours) == len(expected)
    for own, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=tolerance)


def whole(module, states, batch, reference):
    rows = [states.new_zeros(len(states), 8)]
    for start, end in documents(batch):
        own = reference(module, states[start:end])
        rows.append(torch.cat([states.new_zeros(start, 8), own, states.new_zeros(len(states) - end, 8)]))
    return torch.stack(rows).sum(0)


def qkv(module, states):
    return (split_heads(layer(states)) for layer in (module.query, module.key, module.value))


def etc_reference(global_size, radius):
    def compute(module, states):
        query, key, value = qkv(module, states)
        bias = []
        for i in range(len(states)):
            for j in range(len(states)):
                i_global, j_global = i < global_size, j < global_size
                if not (i_global or j_global or abs(i - j) <= radius):
                    bias.append(torch.full((HEADS_OF_TESTS,), -math.inf, dtype=torch.float64))
                    continue
                label = min(max(j - i, -12), 12) + 12 if i_global == j_global else 26 if i_global else 25
                vector = module.relative.weight[label].unflatten(0, (HEADS_OF_TESTS, -1))
                bias.append((query[:, i] * vector).sum(-1) / math.sqrt(query.shape[-1]))
        return dense(query, key, value, torch.stack(bias, -1).unflatten(-1, (len(states), len(states))))

    return compute


def bigbird_reference(global_size, radius, count):
    def compute(module, states):
        query, key, value = qkv(module, states)
        blocks = max(math.ceil((len(states) - global_size) / radius), 0)
        drawn = random_blocks(blocks, count).tolist()
        bias = torch.zeros(len(states), len(states), dtype=torch.float64)
        for i in range(global_size, len(states)):
            for j in range(global_size, len(states)):
                own, other = (i - global_size) // radius, (j - global_size) // radius
                if abs(own - other) > 1 and other not in drawn[own]:
                    bias[i, j] = -math.inf
        return dense(query, key, value, bias)

    return compute


def transformer_xl_reference(module, states):
    query, key, value = qkv(module, states)
    size, width = len(states), states.shape[1]
    bias = torch.zeros(HEADS_OF_TESTS, size, size, dtype=torch.float64)
    for i in range(size):
        for j in range(size):
            angles = [(i - j) / 10_000 ** (2 * k / width) for k in range(width // 2)]
            waves = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)], dtype=torch.float64)
            position = module.position(waves).unflatten(0, (HEADS_OF_TESTS, -1))
            score = (module.u * key[:, j]).sum(-1) + ((query[:, i] + module.v) * position).sum(-1)
            bias[:, i, j] = score / math.sqrt(query.shape[-1])
    return dense(query, key, value, bias)


def bucket_of(vector, rotations, digits):
    """The hash of one token: in each digit the direction, of four, that its turned vector is nearest to."""
    total = 0
    for digit in range(digits):
        x, y = (vector @ rotations[:, digit]).tolist()
        directions = [x, y, -x, -y]
        total += directions.index(max(directions)) * 4**digit
    return total


def reformer_reference(chunk):
    def compute(module, states):
        query, value = (split_heads(layer(states)) for layer in (module.query, module.value))
        size, digits = len(states), hash_digits(len(states), chunk)
        heads = []
        for head, (own, values) in enumerate(zip(query, value, strict=True)):
            rounds = []
            for rotations in module.rotations[:, head]:
                bucket = [bucket_of(vector.detach(), rotations, digits) for vector in own]
                order = sorted(range(size), key=bucket.__getitem__)
                place = {token: rank // chunk for rank, token in enumerate(order)}
                met = [
                    [bucket[i] == bucket[j] and place[i] - place[j] in (0, 1) for j in range(size)] for i in range(size)
                ]
                scores = own @ (own / own.norm(dim=-1, keepdim=True)).T
                scores = scores.masked_fill(~torch.tensor(met), -math.inf)
                scores = scores.masked_fill(torch.eye(size, dtype=torch.bool), -1e5)
                rounds.append((scores.softmax(-1) @ values, scores.logsumexp(-1)))
            weight = torch.stack([log_sum for _, log_sum in rounds]).softmax(0)
            heads.append((torch.stack([output for output, _ in rounds]) * weight[..., None]).sum(0))
        return torch.stack(heads, 1).flatten(1)

    return compute


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("global_size", "radius"), [(4, 3), (2, 15), (40, 5), (1, 1)])
def test_etc_is_the_dense_one(lengths, global_size, radius):
    batch = layout(lengths, padding=2)
    plan = GlobalLocalPlanner(global_size, radius)(batch)
    check(attention_of(EtcAttention), batch, plan, etc_reference(global_size, radius))


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("global_size", "radius", "count"), [(4, 3, 2), (3, 10, 3), (40, 5, 1)])
def test_bigbird_is_the_dense_one(lengths, global_size, radius, count):
    batch = layout(lengths, padding=2)
    plan = GlobalLocalPlanner(global_size, radius, count)(batch)
    check(attention_of(BigBirdAttention), batch, plan, bigbird_reference(global_size, radius, count))


@pytest.mark.parametrize("lengths", [(1,), (29,), (20, 7, 13)])
def test_transformer_xl_is_the_dense_one(lengths):
    batch = layout(lengths, padding=2)
    check(attention_of(TransformerXLAttention), batch, relative_plan(batch), transformer_xl_reference)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("chunk", [3, 8, 64])
def test_reformer_is_the_dense_one(lengths, chunk):
    batch = layout(lengths, padding=2)
    check(attention_of(ReformerAttention), batch, LshPlanner(chunk)(batch), reformer_reference(chunk))


def test_random_blocks_are_others_and_fixed_by_the_length():
    for count in (0, 1, 3, 4, 5, 40):
        drawn = random_blocks(count, 3)
        np.testing.assert_array_equal(drawn, random_blocks(count, 3))
        for number, own in enumerate(drawn.tolist()):
            others = [block for block in own if block >= 0]
            assert len(set(others)) == len(others) == min(3, sum(abs(number - b) > 1 for b in range(count)))
            assert all(abs(block - number) > 1 and block < count for block in others)
    assert len(Counter(random_blocks(40, 3).reshape(-1).tolist())) > 25  # spread over all of them


PLANNERS = {
    "etc": GlobalLocalPlanner(6, 4),
    "bigbird": GlobalLocalPlanner(6, 4, 2),
    "reformer": LshPlanner(8),
    "transformer_xl": relative_plan,
}


@pytest.mark.parametrize("heads", BENCH_HEADS)
def test_a_document_does_not_see_its_neighbours(heads):
    module = attention_of(VARIANTS[heads].attention)
    lengths = (50, 3, 21)
    batch = layout(lengths, padding=1)
    states = torch.randn(len(batch.document), 8, dtype=torch.float64)
    with torch.no_grad():
        together = module(states, PLANNERS[heads](batch))
        for (start, end), length in zip(documents(batch), lengths, strict=True):
            alone = module(states[start:end], PLANNERS[heads](layout((length,))))
            torch.testing.assert_close(alone, together[start:end], rtol=0, atol=1e-12)
    assert not together[torch.from_numpy(batch.document < 0)].any()


@pytest.mark.parametrize("heads", BENCH_HEADS)
def test_a_whole_model_runs_on_padded_batches(small_config, padded_tables, heads):
    config = small_config(heads=heads, attention_probs_dropout_prob=0.1)
    model = MateModel(config).double()
    states = model(**padded_tables).last_hidden_state
    states.square().sum().backward()
    assert states.isfinite().all()
    assert all(p.grad is not None for n, p in model.named_parameters() if not n.startswith("pooler"))
    model.eval()
    together = model(**padded_tables).last_hidden_state
    alone = model(**{name: tensor[1:2] for name, tensor in padded_tables.items()}).last_hidden_state
    torch.testing.assert_close(alone[0], together[1], rtol=0, atol=1e-12)
    with torch.autocast("cpu", torch.bfloat16):
        low = model.float()(**padded_tables).last_hidden_state
    assert low.dtype == torch.bfloat16
    assert low.isfinite().all()


def test_only_the_bench_models_have_parameters_of_their_own(small_config):
    names = {heads: {n for n, _ in MateModel(small_config(heads=heads)).named_parameters()} for heads in HEADS}
    layer = "encoder.layer.0.attention.self."
    assert names["bigbird"] == names["full"] == names["mate"]
    assert names["etc"] - names["mate"] >= {f"{layer}relative.weight"}
    assert names["mate"] - names["reformer"] >= {f"{layer}key.weight"}
    own = names["transformer_xl"] - names["mate"]
    assert own >= {f"{layer}{name}" for name in ("u", "v", "position.weight")}


def attention_flops(heads, tokens):
    """Of one layer, less its linear layers'."""
    torch.manual_seed(0)
    module, batch = VARIANTS[heads].attention(CONFIG), layout((tokens,))
    plan = make_planner(MateConfig(heads=heads))(batch)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        module(torch.randn(tokens, 8), plan)
    linear = sum(2 * tokens * m.weight.numel() for m in module.modules() if isinstance(m, torch.nn.Linear))
    return counter.get_total_flops() - linear


@pytest.mark.parametrize(
    ("heads", "tokens", "exponent"),
    [("etc", 1024, 1), ("bigbird", 1024, 1), ("reformer", 512, 1), ("transformer_xl", 512, 2)],
)
def test_attention_costs_what_table_1_says(heads, tokens, exponent):
    """Table 1; Reformer's sort, which makes it n log n, is no floating-point work."""
    growth = attention_flops(heads, 4 * tokens) / attention_flops(heads, tokens)
    assert math.log(growth, 4) == pytest.approx(exponent, abs=0.1)


def test_every_kind_of_heads_has_a_variant():
    assert set(VARIANTS) == set(HEADS)
