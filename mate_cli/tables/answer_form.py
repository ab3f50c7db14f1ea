"""Tell from the words of a question which form its answer has: the rows that it names, a sum of a column, or one cell.

Models learn from benchmarks, where "how many" nearly always counts rows; but "how many pupils are there in Lund?" asks
for the sum of a column "pupils", and "how much was spent in 2023?" for that of a column "spent". Where they choose two
cells for "the tallest plant", one of them is wrong, unless both are as tall; and where they choose all people in Graz
for "which engineer works in Graz?", those of other professions are. No list of names answers "how many", and "how many
different teams" counts each team once; so does "how many teams are there?" in a column that repeats them. "How many
hammers are in stock?" asks for a cell in the row of the hammers. For "how many people" neither their pay nor years are
added up, and for "the average donation" the amounts beside the donors are meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mate_cli.tables.aggregation import AVERAGE, COUNT, NONE, SUM
from mate_cli.tables.asked_rows import asked_rows, most_behind_headers
from mate_cli.tables.columns import column_values
from mate_cli.tables.number_words import CARDINALS
from mate_cli.tables.queries.headers import REMARK, head_of, is_plural, plural, words_of
from mate_cli.tables.queries.scales import adds_up_in_words, is_price
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn
from mate_cli.tables.queries.words import is_label, is_money
from mate_cli.tables.table import Cell, Coordinate, Table
from mate_cli.tables.table_index import words
from mate_cli.tables.text import normalize_for_match

_HOW_MANY = re.compile(r"\bhow many (?:of the )?(?:total |combined )?(.+)|^(?:what \w+ )?the (?:total )?number of (.+)")
_BEGINS = re.compile(r"how many (?!more\b|fewer\b|less\b)")
# "40 km", but neither "2024-001", nor "E-44", nor "Kingsmere 58"
_QUANTITY = re.compile(
    r"\W*(?:(?:about|approx\w*\.?|around|almost|nearly|over|under|ca\.?|circa|some) )?\W?\d+(?!\d*[-/]\d)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\W*$| (?:are|were|is|was|do|did|does|have|has|had|in|on|at|left|there)\b")
_SETS_LIMIT = re.compile(r"\d|\b(?:more|less|fewer|than|above|over|under|below|between)\b")
_QUANTITIES = {"amount", "available", "count", "number", "pieces", "qty", "quantity", "stock", "total", "units"}
_QUANTITIES |= {"hand", "in", "of", "on"}  # "in stock", "on hand", "number of pieces"
_HOW_MUCH = re.compile(r"\bhow much (.+)")
_PAID = re.compile(
    r"\bhow much .*\b(?:spen[dt]|pa(?:y|id)|sold|earn(?:ed)?|invested|donated|raised|received|billed|charged|saved"
    r"|transferred|deposited|withdrawn|refunded)\b"
)
_OF_MONEY = re.compile(
    r"\bhow many (?:\w+ )?(?:dollars|euros|pounds|francs|yen|thousands?|millions?|billions?)\b|\bmoney\b"
)
_DIFFERENT = re.compile(r"\b(?:how many|number of) (?:of the )?(?:different|distinct|unique)\b")
_FEW = 0.6  # of the cells of a column: so many texts or fewer are kinds, as suppliers of products are
_OF_EACH = re.compile(r"\b(?:each|every|per|respectively|different|distinct)\b")
_LIMIT = re.compile(
    r"(?:(?:is|are|was|were) )?(?:above|over|under|below|between|at (?:least|most)|\w+er than|more|less)\b"
)
_COMPUTED = re.compile(r"\b(?:total|sum|average|mean|combined|together|altogether|how (?:much|many))\b")
_TOTAL_OF = re.compile(r"^(?!.*\b(?:many|number)\b).*\btotal of\b")
_COMPARES = re.compile(r"\b(?:more|less|fewer|than|difference)\b")

_MOST = r"(?:most|least|fewest|highest|lowest|first|last|best|worst|only|\w{2,}est)"
_THE_MOST = re.compile(
    rf"\bthe (?:\w+ )?{_MOST}\b(?! (?:quarter|half)\b)|'s {_MOST}\b"
    r"|\b(?:first|last|earliest|latest)(?: (?:in|at|of|among|from)\b|\W*$)"
)
_SEVERAL = re.compile(
    r"^(?:list|show|name all|give all|(?:what|which|who) (?:are|were))\b|\b(?:all|both|each)\b"
    r"|\b(?:the|which|what|name) (?:\w+ )?(?:two|three|four|five|\d{1,2}) \w+s\b"
    rf"|\band (?:the )?{_MOST}\b|\(s\)"
)
# In "which dish takes the longest" the second word is a verb.
_KIND = re.compile(
    r"\b(?:which|what) ((?!(?:is|was|of)\b)\w+"
    rf"(?: (?!(?:of|from|in|on|at|with|that|who|is|was|had|has|the)\b|\w+s (?:the )?{_MOST}\b)\w+)*)"
)


def with_all_names(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> list[int]:
    """Return the places of the chosen cells whose rows have the names of a question, all if it joins several, as in
    "which engineer works in Graz?": of people in Graz the engineers. Of these, where names stand behind headers
    ("from Kassel to Erfurt"), those with the most names in the columns of these headers. All places, if none is such a
    cell, the question looks past the named rows ("before", "other than"), or cells are counted and there is one name:
    rows that are counted often have it as a part of a cell.

    Args:
        aggregation: name of the operator that the model chose.
    """
    places = [*range(len(cells))]
    if len(cells) < 2 or not (named := asked_rows(question, table)).suffice:
        return places
    if named.flagged or named.most > 1 or aggregation != COUNT.name:
        places = [place for place in places if cells[place][0] in named.rows] or places
    rows = most_behind_headers(question, table, {cells[place][0] for place in places})
    return [place for place in places if cells[place][0] in rows]


def asks_for_sum(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> bool:
    """Return whether a model that lists or counts cells of a column of numbers should have added them up.

    It should, if "how many" is followed by the name of the column, or a part of it, in the plural, or if that name
    comes after "how much" or "total"; and if it lists amounts for "how much was paid", or those of a time for "what was
    the revenue in the first quarter". A single cell that is not counted is left as the answer.

    Args:
        cells: those that the model chose.
        aggregation: name of the operator that it chose.
    """
    text = normalize_for_match(question)
    lists, column = aggregation == NONE.name and len(cells) > 1, _only_column(cells)
    if column is None or not (lists or aggregation == COUNT.name) or _OF_EACH.search(text):
        return False
    if lists and _COMPARES.search(text):  # "how many more goals" is a difference
        return False
    header = table.header[column].text
    asks = _counts(text, header) or _measures(text, header) or (lists and _totals(text, header))
    asks_of_time = lists and not asks and _adds_up(text, table, column) and asked_rows(question, table).by_value
    return asks_of_time or (asks and has_amounts(table, column))


def amounts_of_named(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> list[Coordinate]:
    """Return the amounts in the rows that a model counts by the name of what they hold: for "how many hammers are in
    stock?" the cell of the hammers below "in stock" or "quantity". None if the rows or their amounts have no such name.
    """
    noun, rows = _counted_noun(normalize_for_match(question)), dict.fromkeys(row for row, _ in cells)
    if aggregation != COUNT.name or not rows or not all(_begins_with_name(noun, table.rows[row]) for row in rows):
        return []
    said = {*words(question)}
    kinds = [{*words_of(cell.text)} for cell in table.header]
    able = [column for column, kind in enumerate(kinds) if kind and kind - _QUANTITIES <= said]
    named = [column for column in able if kinds[column] - _QUANTITIES] or able
    return [(row, named[0]) for row in rows] if len(named) == 1 and has_amounts(table, named[0]) else []


def amounts_beside(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> list[Coordinate]:
    """Return the amounts in the rows of texts that a model adds up or averages, or counts for "the total of": for "the
    average donation to the shelter" those beside the donors. None if no column, or more than one, may have them: of
    several columns of amounts the one whose header has a word of the question; or if no word asks for something
    computed.
    """
    column, text = _only_column(cells), question.lower()
    computes = aggregation in (SUM.name, AVERAGE.name) and _COMPUTED.search(text)
    if column is None or not (computes or (aggregation == COUNT.name and _TOTAL_OF.search(text))):
        return []
    texts = (table.rows[row][column].text for row, _ in cells)
    if any(map(_may_be_quantity, texts)) or any(typed.kind is not ColumnType.TEXT for typed in _typed(table, column)):
        return []
    able = [place for place in range(table.num_columns) if place != column and has_amounts(table, place)]
    said = {*words(question)}
    named = [place for place in able if said & {*words(table.header[place].text)}] or able
    return [(row, named[0]) for row in dict.fromkeys(row for row, _ in cells)] if len(named) == 1 else []


def asks_for_count(question: str, table: Table, cells: Sequence[Coordinate], aggregation: str) -> bool:
    """Return whether a model that lists cells should have counted them, or one that adds up years or pay: "how many"
    begins the question, and none of the cells that are listed may be a quantity.
    """
    text = normalize_for_match(question)
    if not cells or not _BEGINS.match(text):
        return False
    if aggregation == SUM.name:
        column = _only_column(cells)
        typed = () if column is None or _OF_MONEY.search(text) else _typed(table, column)
        return any(one.kind is ColumnType.YEAR or is_money(one) for one in typed)
    texts = (table.rows[row][column].text for row, column in cells)
    return aggregation == NONE.name and not any(map(_may_be_quantity, texts))


def each_once(question: str, table: Table, cells: Sequence[Coordinate]) -> list[int]:
    """Return the places of the cells that a question counts: of each text the first where it asks how many different
    ones there are, or how many of what the header of a whole column names, if its texts are few. Else all places.
    """
    texts = [normalize_for_match(table.rows[row][column].text) for row, column in cells]
    places = {text: place for place, text in reversed([*enumerate(texts)])}
    asked = normalize_for_match(question)
    is_few = len(places) <= _FEW * len(cells) and _counts_column(asked, table, cells)
    return sorted(places.values()) if is_few or _DIFFERENT.search(asked) else [*range(len(cells))]


def asks_for_one(question: str, table: Table, cells: Sequence[Coordinate]) -> bool:
    """Return whether a question asks for one extreme in the singular, and the chosen rows cannot all be it: none of the
    columns that it names has the same number or date in all of them.
    """
    text = normalize_for_match(question)
    if not wants_one(text):
        return False
    ranks, said = column_values(table).rank, {*words(text)}
    named = [place for place, header in enumerate(table.header) if said & {*words(header.text)}]
    differ = [place for place in named if ranks[:, place].max() > 1]
    return not any(ranks[cells[0][0], place] and len({ranks[row, place] for row, _ in cells}) == 1 for place in differ)


def names_extreme(question: str) -> bool:
    """Return whether a question has words for one of several things: "the largest", "the only", "last in March"."""
    return _THE_MOST.search(normalize_for_match(question)) is not None


def wants_one(text: str) -> bool:
    """Return whether a question in lower case asks for one extreme in the singular."""
    return names_extreme(text) and not _SEVERAL.search(text) and not any(map(is_plural, asked_kind(text)))


def asked_kind(text: str) -> list[str]:
    """Return the words behind "which" or "what" that say what is asked for: ["tools"]; empty without one of these."""
    kind = _KIND.search(text)
    return [] if kind is None else kind[1].split()


def _only_column(cells: Sequence[Coordinate]) -> int | None:
    """Return the column of cells; None if they are in several, or there are none."""
    columns = {column for _, column in cells}
    return columns.pop() if len(columns) == 1 else None


def _counted_noun(text: str) -> str:
    """Return a question from the noun on whose number it asks for; "" if it asks for none."""
    asked = _HOW_MANY.search(text)
    return "" if asked is None else asked[1] or asked[2]


def _begins_with_name(text: str, row: Sequence[Cell]) -> bool:
    """Return whether a text begins with what a cell names, in the plural perhaps, and sets no limit after it."""
    names = [name for cell in row if (name := normalize_for_match(cell.text))[:1].isalpha()]
    rests = [text.removeprefix(form) for name in names for form in (name, plural(name)) if text.startswith(form)]
    return any(_GOES_ON.match(rest) and not _SETS_LIMIT.search(rest) for rest in rests)


def _counts(text: str, header: str) -> bool:
    """Return whether a question asks how many there are of what a header names, of any size."""
    noun = _counted_noun(text)
    rests = [noun.removeprefix(name) for name in _plurals(header) if re.match(rf"{re.escape(name)}\b", noun)]
    return any(not _LIMIT.match(rest.strip()) for rest in rests)


def _counts_column(text: str, table: Table, cells: Sequence[Coordinate]) -> bool:
    """Return whether a question asks how many there are of what a header names, and all cells below it are chosen."""
    rows, column, noun = {row for row, _ in cells}, _only_column(cells), _counted_noun(text)
    if column is None or any(own[column].text and row not in rows for row, own in enumerate(table.rows)):
        return False
    header = table.header[column].text
    *before, last = words_of(REMARK.sub("", header)) or [""]
    names = [*_plurals(header), *(" ".join([*before[start:], plural(last)]) for start in range(len(before) + 1))]
    return any(re.match(rf"{re.escape(name)}\b", noun) for name in names if name.strip())


def _measures(text: str, header: str) -> bool:
    """Return whether a question asks how much there is of what a header names."""
    asked, name = _HOW_MUCH.search(text), head_of(header)
    return asked is not None and bool(name) and re.search(rf"\b{re.escape(name)}\b", asked[1]) is not None


def _totals(text: str, header: str) -> bool:
    """Return whether a question asks for the total of what a header names, or for what was paid."""
    name = head_of(header)
    names_total = bool(name) and re.search(rf"\b(?:total|combined) {re.escape(name)}\b", text) is not None
    return names_total or _PAID.search(text) is not None


def _adds_up(text: str, table: Table, column: int) -> bool:
    """Return whether a question asks what "the revenue" was, in the singular, in a column that people add up."""
    name = head_of(table.header[column].text)
    if (
        not name
        or is_plural(name)
        or not re.search(rf"\bwhat (?:is|was) (?:my|our|the) (?:\w+ )?{re.escape(name)}\b", text)
    ):
        return False
    return any(adds_up_in_words(typed) and not is_price(typed) for typed in _typed(table, column))


def _may_be_quantity(text: str) -> bool:
    """Return whether a text begins with a number, has a word for one, or is empty."""
    said = {*words(text)}
    return _QUANTITY.match(text) is not None or not said or not said.isdisjoint({"no", "none", *CARDINALS})


def _plurals(header: str) -> list[str]:
    """Return the phrases of a header that end in a plural: "yellow cards" and "cards", "goals" of "goals for"."""
    parts = words_of(REMARK.sub("", header))
    ends = [place for place, word in enumerate(parts) if is_plural(word)]
    return [" ".join(parts[start : end + 1]) for end in ends for start in range(end + 1)]


def has_amounts(table: Table, column: int) -> bool:
    """Return whether a column has numbers that are neither years nor names of rows."""
    return any(typed.kind is ColumnType.NUMBER and not is_label(typed) for typed in _typed(table, column))


def _typed(table: Table, column: int) -> tuple[TypedColumn, ...]:
    """Return a column with its type; empty, if it has no clear name."""
    return Sheet(table.selected(range(table.num_rows), [column])).columns
