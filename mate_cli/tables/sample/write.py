"""Generate the tables, passages and questions of the sample and write them in HybridQA's layout."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from mate_cli.tables.answer_match import AnswerFinder, AnswerMatch
from mate_cli.tables.sample.domains import DOMAINS
from mate_cli.tables.sample.names import Names
from mate_cli.tables.sample.questions import Asked, ask_all
from mate_cli.tables.sample.releases import write_json, write_releases
from mate_cli.tables.sample.world import World, build_world
from mate_cli.tables.table import Cell, Coordinate, Table

_TABLES_PER_DOMAIN: Mapping[str, int] = {"dev": 8, "test": 8, "train": 50}
_QUESTIONS_PER_TABLE = 7
_QUIET_EVERY = 10  # tables; one question of such a table has no answer
_MOST_CANDIDATES = 4


def write_sample(folder: Path, seed: int = 0, tables_per_domain: Mapping[str, int] = _TABLES_PER_DOMAIN) -> None:
    """Write train, dev and test below ``folder``: about 1,050, 170 and 170 questions, the same for the same arguments.

    No name occurs in two tables, so the splits share no entity. test.json is blind as in the release; test.traced.json
    has its answers. The look-ups are also written in other layouts (``releases``).

    Args:
        tables_per_domain: how many tables of each of the three domains a split has, about seven questions a table.

    Raises:
        OSError: ``folder`` cannot be written.
    """
    random = Random(f"mate sample {seed}")
    names = Names(random)
    for split, tables in tables_per_domain.items():
        entries = list(_write_split(folder, split, tables, names, random))
        random.shuffle(entries)
        _write_questions(folder, split, entries)
    write_releases(folder)


def _write_split(folder: Path, split: str, tables: int, names: Names, random: Random) -> Iterator[dict[str, Any]]:
    kinds = [domain for domain in DOMAINS for _ in range(tables)]
    for number, domain in enumerate(kinds):
        world = build_world(domain, names, random, quiet=number % _QUIET_EVERY == 0)
        table_id = f"{split}_{domain.plural.replace(' ', '_')}_{number % tables}"
        table, passages = _page(world, table_id, names.one("place"))
        _write_page(folder, table, passages)
        yield from _entries(table, passages, ask_all(world, _QUESTIONS_PER_TABLE, random))


def _page(world: World, table_id: str, region: str) -> tuple[Table, dict[str, str]]:
    """Return the table and its linked passages."""
    links = {place: "/wiki/" + entity.name.replace(" ", "_") for place, entity in world.entities.items()}
    rows = tuple(
        tuple(Cell(text, (links[r, c],) if (r, c) in links else ()) for c, text in enumerate(row))
        for r, row in enumerate(world.rows)
    )
    header = tuple(Cell(text) for text in world.headers)
    passages = {links[place]: entity.passage for place, entity in world.entities.items()}
    return Table(table_id, header, rows, f"{world.domain.plural.capitalize()} of {region}"), passages


def _entries(table: Table, passages: dict[str, str], asked: Iterable[Asked]) -> Iterator[dict[str, Any]]:
    """Yield questions in the release's format, without duplicates and those with too many candidates."""
    finder, seen = AnswerFinder(table, passages), set()
    for item in asked:
        match = finder.find(item.answer)
        if item.question in seen or not _is_answerable(item.place, match):
            continue
        seen.add(item.question)
        yield {
            "question_id": hashlib.sha256(f"{table.id} {item.question}".encode()).hexdigest()[:16],
            "question": item.question,
            "table_id": table.id,
            "answer-text": item.answer,
            "question_postag": "",
            "answer-node": _nodes(table, match),
            "reasoning": "ambiguous" if len(match.candidates) > 1 else item.reasoning,
        }


def _is_answerable(place: Coordinate | None, match: AnswerMatch) -> bool:
    if place is None:
        return not match.candidates
    return place in match.candidates and len(match.candidates) <= _MOST_CANDIDATES


def _nodes(table: Table, match: AnswerMatch) -> list[list[Any]]:
    nodes: list[list[Any]] = []
    for r, c in match.candidates:
        cell = table.rows[r][c]
        in_text = (r, c) in match.in_text
        nodes.append([cell.text, [r, c], None if in_text else cell.links[0], "table" if in_text else "passage"])
    return nodes


def _write_page(folder: Path, table: Table, passages: dict[str, str]) -> None:
    linked = folder / "WikiTables-WithLinks"
    content = {
        "url": "",
        "title": table.title,
        "header": [[cell.text, list(cell.links)] for cell in table.header],
        "data": [[[cell.text, list(cell.links)] for cell in row] for row in table.rows],
        "section_title": "",
        "section_text": "",
        "uid": table.id,
        "intro": "",
    }
    write_json(linked / "tables_tok" / f"{table.id}.json", content, indent=1)
    write_json(linked / "request_tok" / f"{table.id}.json", passages, indent=1)


def _write_questions(folder: Path, split: str, entries: list[dict[str, Any]]) -> None:
    """Write the traced file with everything, and the plain one without nodes, and without answers for test."""
    hidden = {"answer-node", "reasoning"} | ({"answer-text"} if split == "test" else set())
    plain = [{key: value for key, value in entry.items() if key not in hidden} for entry in entries]
    write_json(folder / "released_data" / f"{split}.traced.json", entries, indent=1)
    write_json(folder / "released_data" / f"{split}.json", plain, indent=1)
