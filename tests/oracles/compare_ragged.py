"""Our `ragged` beside the measured prototype: median ratios of forward + backward time, interleaved.

    OMP_NUM_THREADS=1 python tests/oracles/compare_ragged.py [ROUNDS]

One thread and processor time, so that a busy machine disturbs little. One document of 2048 or 8192 tokens in
grid layout, 32-bit arithmetic, one layer's attention at base and MiniLM size.
"""

import os
import statistics
import sys
import time
from pathlib import Path

os.environ["THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "shared" / "prototypes"))

import numpy as np
import segment_attention as prototype
import torch

from mate_cli.attention import Layout, attend, build_plan, mate_pattern

SIZES = {"base": (768, 12), "MiniLM": (384, 12)}


def timed(function):
    started = time.process_time()
    function()
    return time.process_time() - started


def contestants(tokens, hidden, heads):
    """The same work for both: attention of one layer, forward and backward."""
    row, column = prototype.batch(tokens, "grid")
    segment = ((row[0] > 0) | (column[0] > 0)).astype(np.int64)
    layout = Layout(np.zeros(tokens, np.int64), row[0], column[0], segment)
    pattern, head_dim = mate_pattern(heads), hidden // heads
    plan = build_plan(layout, pattern.kinds, "ragged")
    other = prototype.SegPlan2(row, column)
    qkv = torch.randn(tokens, 3 * hidden, requires_grad=True)
    weight = torch.randn(tokens, hidden)

    def ours():
        attend(qkv, plan, pattern).backward(weight)

    def theirs():
        states = qkv.view(tokens, 2, 3, heads // 2, head_dim)
        prototype.seg2_attention(states, other, heads // 2, head_dim).backward(weight)

    return ours, theirs, qkv


def same_result(ours, theirs, qkv):
    gradients = []
    for function in (ours, theirs):
        qkv.grad = None
        function()
        gradients.append(qkv.grad.clone())
    return torch.allclose(*gradients, atol=1e-4)


def main(rounds=15):
    torch.set_num_threads(1)
    print("size    tokens  ours ms  prototype ms  median ratio  same gradients")
    for name, (hidden, heads) in SIZES.items():
        for tokens in (2048, 8192):
            ours, theirs, qkv = contestants(tokens, hidden, heads)
            same = same_result(ours, theirs, qkv)
            times = []
            for number in range(rounds):
                pair = (ours, theirs) if number % 2 else (theirs, ours)
                first, second = timed(pair[0]), timed(pair[1])
                times.append((first, second) if number % 2 else (second, first))
            ratio = statistics.median(a / b for a, b in times)
            own, other = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
            print(f"{name:7} {tokens:6}  {own:7.1f}  {other:12.1f}  {ratio:12.3f}  {same}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
