"""Large tables in parts, with stand-ins for encoder and model that are known to be right: tokens are words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mate_cli.inference.reading import Assembled, Reading, silent
from mate_cli.inference.table_reader import PartChoice, TableReader
from mate_cli.tables.table import Cell, Example, Table

MOST = 24


def encode(examples: Sequence[Example]) -> list[Any]:
    """The question, the header and every cell have as many tokens as words."""
    texts = [[e.question, *(cell.text for row in (e.table.header, *e.table.rows) for cell in row)] for e in examples]
    return [SimpleNamespace(full_length=sum(len(t.split()) for t in of), outcome=None, pruned=0) for of in texts]


class Model:
    """Chooses rows of what it reads by a rule on their texts, and remembers what it read."""

    def __init__(self, rule: Callable[[list[list[str]]], list[int]], computes: bool = False) -> None:
        self.rule, self.computes, self.read = rule, computes, []

    def choose(self, readings: Sequence[Reading]) -> list[PartChoice]:
        choices = []
        for reading in readings:
            texts = [[cell.text for cell in row] for row in reading.read.table.rows]
            self.read.append((reading.encoded.full_length, len(texts)))
            cells = tuple((reading.rows[row], 0) for row in self.rule(texts))
            choices.append(PartChoice(SimpleNamespace(cells=cells), cells, self.computes))
        return choices


def put_together(predictions: Sequence[Any]) -> Any:
    return SimpleNamespace(cells=tuple(cell for prediction in predictions for cell in prediction.cells))


def reader(model: Model, batch: int = 3, most: int | None = MOST, limit: int = 999) -> TableReader:
    return TableReader(encode, model.choose, put_together, batch, most, limit)


def asked(rows: Sequence[Sequence[object]], question: str = "which is it ?", **given: Any) -> Example:
    body = tuple(tuple(Cell(str(value)) for value in row) for row in rows)
    return Example("0", question, Table("t", (Cell("name"), Cell("number")), body), **given)


def read(example: Example, model: Model, most: int | None = MOST, batch: int = 3, limit: int = 999) -> Reading:
    (reading,) = reader(model, batch, most, limit).read([example], silent)
    assert isinstance(reading, Reading)
    return reading


def largest(texts: list[list[str]]) -> list[int]:
    return [max(range(len(texts)), key=lambda row: int(texts[row][1]))]


def with_seven(texts: list[list[str]]) -> list[int]:
    """As a trained model does, point to a row also where none belongs to the answer."""
    return [row for row, (_, number) in enumerate(texts) if number == "7"] or [0]


_NUMBERS = st.lists(st.integers(0, 10**6), min_size=1, max_size=300, unique=True)


@given(_NUMBERS, st.integers(1, 5))
def test_the_row_that_each_part_would_choose_is_in_the_last_input(numbers: list[int], batch: int) -> None:
    example = asked([("row", number) for number in numbers])
    model = Model(largest)
    reading = read(example, model, batch=batch)
    is_whole = len(numbers) <= 21
    assert reading.encoded.full_length <= (2 * MOST if is_whole else MOST)
    assert all(length <= MOST for length, _ in model.read)
    rows = reading.rows or range(len(numbers))
    assert numbers.index(max(numbers)) in rows
    assert list(rows) == sorted(rows)
    assert reading.read.table.rows == tuple(example.table.rows[row] for row in rows)
    assert (reading.parts == 0) == (reading.rows == ()) == is_whole
    assert reading.parts == len(model.read)


@given(st.lists(st.booleans(), min_size=100, max_size=200))
def test_all_rows_of_an_answer_of_several_are_kept(is_seven: list[bool]) -> None:
    sevens = {row for row, seven in enumerate(is_seven) if seven}
    reading = read(asked([("row", 7 if seven else 1) for seven in is_seven]), Model(with_seven))
    assert sevens <= {*(reading.rows or range(len(is_seven)))}
    assert len(reading.rows) <= max(9, len(sevens) + 9)


def test_where_the_answer_is_nearly_every_row_they_are_read_together_or_put_together() -> None:
    nearly = asked([("row", 7 if number % 50 else 1) for number in range(200)])
    sevens = [row for row in range(200) if row % 50]
    exactly = Model(lambda texts: [row for row, (_, number) in enumerate(texts) if number == "7"])
    reading = read(nearly, exactly)
    assert list(reading.rows) == sevens
    assert reading.encoded.full_length == 4 + 2 + 2 * len(sevens)
    assert reading.parts == len(exactly.read)  # and not parts of parts, again and again
    (listed,) = reader(exactly, limit=MOST).read([nearly], silent)
    assert isinstance(listed, Assembled)
    assert [row for row, _ in listed.prediction.cells] == sevens
    (refused,) = reader(exactly, limit=MOST)._replace(combine=None).read([nearly], silent)
    assert isinstance(refused, Reading)
    assert refused.encoded.full_length > MOST


def test_rows_to_count_are_read_together_up_to_eight_inputs() -> None:
    few, many = ([("row", 7 if number % 20 == 0 else 1) for number in range(count)] for count in (90, 200))
    model = Model(with_seven, computes=True)
    assert read(asked(few), model).rows == ()
    assert model.read  # that it counts is known from its parts
    counted = read(asked(many), Model(with_seven, computes=True))
    assert {*range(0, 200, 20)} <= {*counted.rows}
    assert MOST < counted.encoded.full_length <= 8 * MOST
    assert read(asked(few), Model(with_seven)).encoded.full_length <= MOST


def test_most_rows_are_counted_part_by_part_however_many_there_are() -> None:
    rows = [("row", 7 if number % 10 else 1) for number in range(1000)]
    sevens = {(row, 0) for row in range(1000) if row % 10}
    exactly = Model(lambda texts: [row for row, (_, number) in enumerate(texts) if number == "7"], computes=True)
    (counted,) = reader(exactly).read([asked(rows)], silent)
    assert isinstance(counted, Assembled)
    assert {*counted.prediction.cells} == sevens
    assert counted.parts == len(exactly.read)
    said = f"the answers to {counted.parts} parts of the 1,000 rows were put together"
    assert counted.unread(max_tokens=2001) == said
    assert counted.unread(max_tokens=2002) == f"{said}; rows=all reads every row"


def test_a_part_in_which_nothing_is_chosen_adds_no_row() -> None:
    rows = [("row", 7 if number == 40 else 1) for number in range(50)]
    only_seven = Model(lambda texts: [row for row, (_, number) in enumerate(texts) if number == "7"])
    assert read(asked(rows), only_seven).rows == (40,)
    nothing = read(asked(rows), Model(lambda texts: []))
    assert nothing.rows == tuple(range(len(nothing.rows)))
    assert nothing.encoded.full_length <= MOST


def test_long_rows_make_short_parts_and_one_too_long_stands_alone() -> None:
    rows = [("long " * (30 if number == 5 else number % 3 + 1), number) for number in range(40)]
    model = Model(largest)
    reading = read(asked(rows), model)
    assert 39 in reading.rows
    assert {count for length, count in model.read if length > MOST} == {1}
    assert sum(count for _, count in model.read[: reading.parts]) >= 40


def test_named_rows_are_read_alone_and_join_every_part_where_others_matter() -> None:
    rows = [(f"town{number}", number) for number in range(60)]
    model = Model(largest)
    alone = read(asked(rows, "how large is town41 ?"), model)
    assert (alone.rows, alone.parts, model.read) == ((41,), 0, [])
    seen: list[list[str]] = []

    def larger(texts: list[list[str]]) -> list[int]:
        names = [name for name, _ in texts]
        seen.append(names)
        return [row for row, (_, number) in enumerate(texts) if int(number) == 42]

    compared = read(asked(rows, "what is next after town41 ?"), Model(larger))
    assert compared.rows == (41, 42)
    assert all("town41" in names for names in seen)


def test_an_answer_outside_of_the_named_rows_is_sought_again_in_them() -> None:
    rows = [("oslo", 1), ("oslo", 2), ("rome", 3), ("lund", 4), ("bern", 3)]
    model, example = Model(largest), asked(rows, "which is the largest in oslo ?")
    chosen, whole = reader(model), read(example, model)
    assert whole.rows == ()
    alone = chosen.again(whole, [(3, 1)], "NONE")
    assert alone is not None
    assert (alone.rows, alone.read.table.num_rows) == ((0, 1), 2)
    assert chosen.again(whole, [(0, 1), (1, 1), (2, 1)], "SUM") is not None
    assert chosen.again(whole, [(1, 1)], "NONE") is None
    assert chosen.again(whole, [], "NONE") is None
    assert chosen.again(whole, [(3, 1)], "COUNT") is None  # the name may be a part of what is counted
    assert chosen.again(alone, [(3, 1)], "NONE") is None  # only once
    assert reader(model, most=None).again(whole, [(3, 1)], "NONE") is None
    for question in (
        "which is the largest in rome ?",
        "is rome or it larger ?",
        "which is larger than oslo ?",
        "who ?",
    ):
        assert chosen.again(read(asked(rows, question), model), [(3, 1)], "NONE") is None
    single = read(asked(rows, "how large is rome ?"), model)
    alone = chosen.again(single, [(3, 1)], "NONE")
    assert alone is not None
    assert alone.rows == (2,)
    for cells, operator in (
        ([(2, 1), (3, 1)], "NONE"),
        ([(2, 1)], "NONE"),
        ([(4, 1)], "NONE"),
        ([(3, 1)], "SUM"),
        ([], "NONE"),
    ):
        assert chosen.again(single, cells, operator) is None


def test_named_rows_that_would_fill_half_of_a_part_join_none() -> None:
    rows = [(f"town{number}", " ".join([str(number)] * 3)) for number in range(40)]
    seen: list[list[str]] = []
    model = Model(lambda texts: seen.append([name for name, _ in texts]) or [0])
    read(asked(rows, "what is next after town21 or town22 ?"), model)
    assert sum("town21" in names for names in seen[:8]) <= 1


def test_many_named_rows_are_divided_and_join_no_other_part() -> None:
    rows = [("oslo" if number % 2 else "rome", number) for number in range(60)]
    named = read(asked(rows, "which is the largest in oslo ?"), Model(largest))
    assert 59 in named.rows
    assert all(row % 2 for row in named.rows)
    others = Model(largest)
    assert 59 in read(asked(rows, "which is larger than oslo ?"), others).rows
    assert sum(count for _, count in others.read) < 90


def test_no_more_is_read_together_than_an_input_may_have() -> None:
    example = asked([("row", 7 if number == 9 else 1) for number in range(15)])
    assert MOST < read(example, Model(with_seven)).encoded.full_length <= 2 * MOST
    assert read(example, Model(with_seven, computes=True), limit=MOST).encoded.full_length <= MOST


def test_follow_ups_of_long_tables_are_read_in_parts_with_the_rows_of_the_answer_before() -> None:
    rows = [(f"town{number}", number) for number in range(900)]
    seen: list[list[str]] = []
    model = Model(lambda texts: seen.append([name for name, _ in texts]) or largest(texts))
    example = asked(rows, "and larger than that ?", previous=((700, 1),), earlier=("which one ?",))
    reading = read(example, model)
    assert {700, 899} <= {*reading.rows}
    assert all("town700" in names for names in seen)
    ((place, column),) = reading.read.previous
    assert (reading.rows[place], column) == (700, 1)


def test_follow_ups_and_all_rows_are_one_input() -> None:
    rows = [("row", number) for number in range(50)]
    model = Model(largest)
    for given_ in ({"earlier": ("who ?",)}, {"previous": ((0, 0),)}):
        assert read(asked(rows, **given_), model).rows == ()
    assert read(asked(rows), model, most=None).rows == ()
    assert model.read == []


def test_progress_counts_the_parts_of_each_round() -> None:
    told: list[tuple[int, int]] = []
    model = Model(largest)
    example = asked([("row", number) for number in range(200)])
    (reading,) = reader(model, 4).read([example], lambda *parts: told.append(parts))
    assert isinstance(reading, Reading)
    ends = [total for done, total in told if done == total]
    assert sum(ends) == reading.parts
    assert len(ends) >= 2
    assert all(done <= total for done, total in told)


def test_a_table_is_not_encoded_whole_where_its_cells_alone_are_too_many() -> None:
    encoded: list[int] = []

    def counting(examples: Sequence[Example]) -> list[Any]:
        encoded.extend(e.table.num_rows for e in examples)
        return encode(examples)

    table = asked([("row", number) for number in range(500)])
    reader(Model(largest))._replace(encode=counting).read([table], silent)
    assert max(encoded) == MOST // 2
