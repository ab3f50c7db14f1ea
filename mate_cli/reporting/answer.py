"""The answer to one question, as plain data and as a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mate_cli.inference.caveats import answer_probability
from mate_cli.reporting.marked_table import printable
from mate_cli.tasks.pointr import ReadCell, choose


def read_answer_record(record: Mapping[str, Any], cells: Sequence[ReadCell], weight: float) -> dict[str, Any]:
    """Add a reader's span of each cell to ``mate_cli.kinds.cell_selection.answer_record``; answer with the chosen one.

    ``start`` and ``end`` count characters of the cell's reading text (its text and its passages); ``joint`` is
    p(cell) * p(span | cell)^weight; ``chosen`` is an index in ``cells``.
    """
    joined = [
        {
            **selected,
            "span": cell.span,
            "start": cell.start,
            "end": cell.end,
            "span_probability": round(cell.span_probability, 6),
            "joint": cell.joint(weight),
        }
        for selected, cell in zip(record["cells"], cells, strict=True)
    ]
    chosen = choose(cells, weight)
    return {**record, "answer": "" if chosen is None else cells[chosen].span, "chosen": chosen, "cells": joined}


def answer_line(record: Mapping[str, Any]) -> str:
    """The answer of a record in one line, with its cells and probability."""
    return printable(_answer_line(record))


def found_line(record: Mapping[str, Any]) -> str:
    """The table of a folder that a record was answered from, and the next that it could have been."""
    first, *others = (found["table"] for found in record["tables"])
    return printable(f"table: {first}" + (f"; next: {', '.join(others)}" if others else ""))


def _answer_line(record: Mapping[str, Any]) -> str:
    if "best_guess" in record:
        guess = _answer_line({**_without_guess(record), "answer": record["best_guess"]})
        sure = f"probability {_below(record['answer_probability'], record['threshold'])}"
        return f"no answer: {sure}; best guess: {guess.removeprefix('answer: ')}"
    if "operator" in record:
        return f"answer: {_listed(record['answer']) or 'none'}  ({_made_of(record)})"
    if "probability" in record:
        return f"answer: {record['answer']}  (probability {answer_probability(record):.2f})"
    best = record["cells"][record.get("chosen", 0)]
    place = f"{best['header']}, row {best['row']}"
    if "span" not in best:
        return f"answer: {record['answer']}  ({place}; probability {best['probability']:.2f})"
    sure = f"probability of the cell {best['probability']:.2f}, of the words {best['span_probability']:.2f}"
    return f"answer: {record['answer']}  (read from {place}; {sure})"


def _below(probability: float, threshold: float) -> str:
    """Write a probability with as many digits as tell it from the threshold."""
    digits = next((digits for digits in range(2, 6) if round(probability, digits) < threshold), 6)
    return f"{probability:.{digits}f} is below threshold={threshold:g}"


def _listed(texts: Sequence[str]) -> str:
    """Write each text once, with the number of the cells that have it."""
    return ", ".join(text if count == 1 else f"{text} ({count} times)" for text, count in Counter(texts).items())


def _without_guess(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "best_guess"}


def _made_of(record: Mapping[str, Any]) -> str:
    count = len(record["cells"])
    cells = "1 cell" if count == 1 else f"{count} cells"
    columns = " and ".join(dict.fromkeys(cell["header"] for cell in record["cells"] if cell["header"]))
    place = f"{cells} of {columns}" if columns else cells
    return f"{record['formula'] or place}; probability {answer_probability(record):.2f}"
