"""Figures 1 and 2 of the paper for one example table, from the masks and plans of the models.

`make pictures` draws the figures of the guides with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mate_cli.attention import Buckets, Kind, Layout, allowed
from mate_cli.attention.bucketed import BucketedPlan, bucketed_plan
from mate_cli.attention.plan import sort_by_line

QUESTION = ("[CLS]", "longest", "river", "?", "[SEP]")
TABLE = (
    ("river", "length", "mouth"),
    ("Po", "652 km", "Adriatic"),
    ("Rhine", "1233 km", "North Sea"),
    ("Loire", "1006 km", "Atlantic"),
    ("Elbe", "1094 km", "North Sea"),
)
BUCKETS = Buckets(global_size=6, radius=4)
KINDS: tuple[Kind, ...] = ("row", "column")

NOTHING, QUESTION_PAIR, SAME_LINE, GLOBAL_PAIR, MASKED, MISSED = range(6)
COLOURS = {
    NOTHING: "#ffffff",
    QUESTION_PAIR: "#c9ced6",
    SAME_LINE: "#2f6db3",
    GLOBAL_PAIR: "#8fb6de",
    MASKED: "#f1ead9",
    MISSED: "#d1495b",
}


def draw_picture(name: str, file: Path) -> None:
    """Write one of ``PICTURES``; the bytes are the same each time."""
    with matplotlib.rc_context({"font.size": 7}):
        figure = PICTURES[name](*example())
        figure.savefig(file, dpi=110, metadata={"Software": None})


def example() -> tuple[list[str], Layout]:
    """The words of the example, one token each, and their layout."""
    words, places = list(QUESTION), [(0, 0, 0)] * len(QUESTION)
    for row, cells in enumerate(TABLE):
        for column, cell in enumerate(cells, start=1):
            words += cell.split()
            places += [(row, column, 1)] * len(cell.split())
    row, column, segment = np.array(places).T
    return words, Layout(np.zeros_like(row), row, column, segment)


def heads_figure(words: list[str], layout: Layout) -> Figure:
    """Figure 1: the attention pattern of row heads and column heads, in the order of the input."""
    figure = Figure(figsize=(9, 5.3), layout="constrained")
    for kind, axes in zip(KINDS, figure.subplots(1, 2), strict=True):
        pairs = _allowed(kind, layout)
        question = layout.segment == 0
        classes = np.where(pairs, np.where(question[:, None] | question, QUESTION_PAIR, SAME_LINE), NOTHING)
        _matrix(axes, classes, words, f"{kind} heads")
    _legend(figure, {QUESTION_PAIR: "to or from the question", SAME_LINE: "same row, or same column"})
    return figure


def buckets_figure(words: list[str], layout: Layout) -> Figure:
    """Figure 2: the tokens in the order of each head, the global tokens, the buckets and the pairs they compute."""
    figure = Figure(figsize=(9, 5.3), layout="constrained")
    plan = bucketed_plan(layout, KINDS, BUCKETS)
    for number, (kind, axes) in enumerate(zip(KINDS, figure.subplots(1, 2), strict=True)):
        order = sort_by_line(kind, layout).tokens
        computed, seen = _planned(plan, number)
        classes = np.where(computed, np.where(seen, SAME_LINE, MASKED), NOTHING)
        classes[_allowed(kind, layout) & ~seen] = MISSED
        classes = classes[np.ix_(order, order)]
        first = np.arange(len(order)) < BUCKETS.global_size
        classes[(first[:, None] | first) & (classes == SAME_LINE)] = GLOBAL_PAIR
        _matrix(axes, classes, [words[token] for token in order], f"{kind} heads, sorted by {kind}")
        for border in range(BUCKETS.global_size, len(order), BUCKETS.radius):
            for draw in (axes.axhline, axes.axvline):
                draw(border, color="black", linewidth=1.6 if border == BUCKETS.global_size else 0.6)
    labels = {
        GLOBAL_PAIR: f"to or from the G={BUCKETS.global_size} global tokens",
        SAME_LINE: f"within neighbouring buckets of R={BUCKETS.radius}",
        MASKED: "computed, then masked",
        MISSED: "of the pattern, but not seen",
    }
    _legend(figure, labels)
    return figure


def _allowed(kind: Kind, layout: Layout) -> np.ndarray:
    return allowed(kind, *(torch.from_numpy(ids) for ids in (layout.row, layout.column, layout.segment))).numpy()


def _planned(plan: BucketedPlan, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that a plan of one document computes, and those of them that its masks keep.

    Returns:
        two bool arrays ``[tokens, tokens]``.
    """
    group = plan.groups[number]
    computed, seen = np.zeros((2, plan.tokens, plan.tokens), dtype=bool)
    computed[group.global_index] = True
    seen[group.global_index] = group.global_masks[0].numpy()
    keys = group.key_index.view(len(group.mask), -1).numpy()
    queries = group.query_index.view(len(group.mask), -1).numpy()
    for bucket, bucket_keys, mask in zip(queries, keys, group.mask[:, 0].numpy(), strict=True):
        for query, row in zip(bucket, mask, strict=True):
            if query:  # token 0 is global; in a bucket it stands for padding
                computed[query, bucket_keys] = True
                seen[query, bucket_keys[row]] = True
    return computed, seen


def _matrix(axes: Axes, classes: np.ndarray, words: list[str], title: str) -> None:
    size = len(words)
    axes.pcolormesh(classes, cmap=ListedColormap(list(COLOURS.values())), vmin=-0.5, vmax=len(COLOURS) - 0.5,
                    edgecolors="#e4e4e4", linewidth=0.2)  # fmt: skip
    axes.set_xticks(np.arange(size) + 0.5, words, rotation=90)
    axes.set_yticks(np.arange(size) + 0.5, words)
    axes.set(title=title, aspect="equal", xlabel="attends to", ylim=(size, 0))
    axes.tick_params(length=0)


def _legend(figure: Figure, words: dict[int, str]) -> None:
    patches = [Patch(facecolor=COLOURS[number], edgecolor="#999999", label=text) for number, text in words.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), frameon=False)


PICTURES = {"heads": heads_figure, "buckets": buckets_figure}
"""Figures 1 and 2."""


if __name__ == "__main__":
    for name in PICTURES:
        draw_picture(name, Path(sys.argv[1]) / f"{name}.png")
