"""What questions are asked of: one table, or a folder in which each question finds its table; with their passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.table import Example, Table
from mate_cli.tables.table_folder import TableFolder
from mate_cli.tables.text_files import has_lone_surrogate
from mate_cli.tables.user_passages import linked, matched_passages

if TYPE_CHECKING:
    from mate_cli.inference.table_search import TableSearch

_SHOWN = 5


class AskedTables:
    """
    Args:
        tables: one table, whose links are parsed, or a folder of tables.
        passages: key -> passage; None: cells do not link. passages_file: where they are from, for errors.
    """

    def __init__(
        self, tables: Table | TableFolder, passages: dict[str, str] | None = None, passages_file: Path = Path()
    ) -> None:
        self.tables, self._passages, self._passages_file = tables, passages, passages_file
        self._search: TableSearch | None = None
        self._found: dict[str, list[dict[str, Any]]] = {}
        self._unnamed: set[str] = set()
        self._hashes: dict[str, str] = {}

    def search(self, questions: Sequence[str]) -> None:
        """Find the tables of questions in the folder, all at once.

        A question without a word of any table can only be compared by meaning, for which words choose the candidates:
        it is asked, with a remark, where all tables are compared and there is an encoder, and else has no table.

        Raises:
            UserError: one is no text.
        """
        for question in questions:
            check_question(question)
        if isinstance(self.tables, Table):
            return
        from mate_cli.inference.table_search import CANDIDATES  # imports torch

        self._search = self._search or _open_search(self.tables)
        names = self.tables.names
        has_word = self._search.index.knows(questions)
        for question, is_named, ranked in zip(questions, has_word, self._search.rank(questions), strict=True):
            is_found = is_named or len(names) <= CANDIDATES
            best = list(ranked.items())[:_SHOWN] if is_found else []
            if best and not is_named:
                self._unnamed.add(question)
            self._found[question] = [{"table": names[number], "score": round(score, 4)} for number, score in best]

    def table_id(self, question: str) -> str | None:
        """Return the id of the table that a question is asked of, after ``search``; None: there is none."""
        if isinstance(self.tables, Table):
            return self.tables.id
        return next((found["table"] for found in self._found[question]), None)

    def unfound(self, question: str) -> str:
        """Say that no table of the folder was found for a question."""
        assert isinstance(self.tables, TableFolder)
        return (
            f"tables={self.tables.folder}: no table has a word of the question {shown(question)}; name one: table=FILE"
        )

    def table_hash(self, question: str) -> str | None:
        """Return a short hash of what a question is asked of, after ``search``: the table, and passages that it links.

        None if it has no table.

        Raises:
            UserError: as ``example``.
        """
        name = self.table_id(question)
        if name is None:
            return None
        if name not in self._hashes:
            self._hashes[name] = _content_hash(self.example(question))
        return self._hashes[name]

    def remarks(self, question: str) -> list[str]:
        """Return lines on what was found in the folder, after ``search``.

        One if the file of the table is not plain, one if no table has a word of the question.
        """
        if isinstance(self.tables, Table):
            return []
        name = self.table_id(question) or ""
        lines = [self.tables.remarks[name]] if name in self.tables.remarks else []
        if question in self._unnamed:
            lines.append(
                f"tables={self.tables.folder}: no table has a word of the question; {name} is only the nearest in "
                "meaning; if it is another, name it: table=FILE"
            )
        return lines

    def facts(self, question: str) -> dict[str, Any]:
        """Return what a record adds about the folder: ``tables``, those found with their scores, best first."""
        return {} if isinstance(self.tables, Table) else {"tables": self._found[question]}

    def example(self, question: str) -> Example:
        """Return a question on its table, after ``search``.

        Raises:
            UserError: it has no table, that can no longer be read, or a cell of it links to no passage.
        """
        if isinstance(self.tables, Table):
            return Example("question", question, self.tables, passages=self._passages or {})
        name = self.table_id(question)
        if name is None:
            raise UserError(self.unfound(question))
        table = self.tables.read(name)
        if self._passages is None:
            return Example("question", question, table)
        table = linked(table)
        passages, _ = matched_passages(self._passages_file, self._passages, table)
        return Example("question", question, table, passages=passages)


def check_question(question: str) -> None:
    """
    Raises:
        UserError: it has bytes that are no UTF-8, which Python keeps as halves of characters.
    """
    if has_lone_surrogate(question):
        raise UserError(f"the question {shown(question)} is not UTF-8; write it in a terminal or file that is")


def _content_hash(example: Example) -> str:
    table = example.table
    rows = [[(cell.text, cell.links) for cell in row] for row in (table.header, *table.rows)]
    content = json.dumps([table.title, rows, sorted(example.passages.items())])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _open_search(folder: TableFolder) -> TableSearch:
    """Open the search in a folder, by words alone where the sentence encoder is not installed."""
    from mate_cli.inference.table_search import TableSearch
    from mate_cli.models.sentence_encoder import PACKAGE, SentenceEncoder

    is_needed = len(folder.names) > 1 and find_spec(PACKAGE) is not None
    return TableSearch(folder.index, SentenceEncoder() if is_needed else None)
