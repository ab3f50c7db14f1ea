"""The CUDA backends on a GPU, against `eager` in 32 bits."""

import numpy as np
import pytest
import torch

from mate_cli.attention import HeadGroup, Pattern, PatternPlanner, attend
from mate_cli.attention.dropout import draw_dropout
from tests.attention.layouts import PATTERNS, document, layout

pytestmark = pytest.mark.gpu
HEAD_DIM = 32
ALL = {**PATTERNS, "row or column": Pattern((HeadGroup("row_or_column", 2),))}
CASES = {
    "packed": [(20, True, 60, 6), (9, False, 3, 3), (12, True, 1, 40)],
    "long question": [(300, True, 30, 4), (5, True, 9, 2)],
    "long columns": [(20, True, 700, 3)],
}


def results(backend, batch, pattern, dtype, qkv, weight, rate=0.0):
    planner = PatternPlanner(pattern.kinds, backend, "cuda", low_precision=dtype != torch.float32, dropout=rate > 0)
    inputs = qkv.to("cuda", dtype).requires_grad_()
    torch.manual_seed(0)
    dropout = draw_dropout(rate, 1, pattern.heads, batch.place().to("cuda"))[0] if rate else None
    output = attend(inputs, planner(batch).to("cuda"), pattern, dropout)
    (gradient,) = torch.autograd.grad(output, inputs, weight.to("cuda", dtype))
    return output.detach().float(), gradient.float()


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize(
    ("backend", "dtype", "rate"),
    [
        ("varlen", torch.bfloat16, 0.0),
        ("varlen", torch.float16, 0.0),
        ("flex", torch.bfloat16, 0.0),
        ("flex", torch.float32, 0.0),
        ("flex", torch.float32, 0.3),
        ("dense", torch.float32, 0.3),
        ("auto", torch.bfloat16, 0.0),
        ("auto", torch.bfloat16, 0.1),
    ],
)
def test_it_is_the_reference(backend, dtype, rate, name, case):
    pattern = ALL[name]
    if backend == "varlen" and name == "row or column":
        pytest.skip("varlen computes lines")
    rng = np.random.default_rng(0)
    documents = [document(*shape, rng, tokens=5) for shape in CASES[case]]
    batch = layout(documents, [3] * len(documents))
    torch.manual_seed(0)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM)
    weight = torch.randn(len(batch.document), pattern.heads * HEAD_DIM)
    expected = results("eager", batch, pattern, torch.float32, qkv, weight, rate)
    tolerance = 1e-4 if dtype == torch.float32 else 0.02
    for ours, reference in zip(results(backend, batch, pattern, dtype, qkv, weight, rate), expected, strict=True):
        assert (ours - reference).norm() < tolerance * reference.norm()
        assert not ours[torch.from_numpy(batch.document < 0)].any()
