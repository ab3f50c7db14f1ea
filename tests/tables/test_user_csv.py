"""CSV tables of ``mate predict`` against Python's own csv module and against broken files."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from mate_cli.tables.user_csv import read_csv
from mate_cli.tables.user_limits import MAX_BYTES, MAX_ROWS

_FIELD = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)


def _table(folder: Path, content: bytes | str) -> Path:
    path = folder / "cities.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _texts(path: Path) -> list[list[str]]:
    table = read_csv(path)
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


@settings(max_examples=60)
@given(
    st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(_FIELD, min_size=width, max_size=width), min_size=2)),
    st.sampled_from([",", ";", "\t"]),
)
def test_reads_back_what_the_csv_module_wrote(rows: list[list[str]], delimiter: str) -> None:
    # Only where no other delimiter stands in the text is the choice free of doubt.
    rows = [[field.translate({ord(sign): "." for sign in ",;\t"}) for field in row] for row in rows]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        assert _texts(_table(Path(folder), text.getvalue())) == [[f.strip() for f in row] for row in rows]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("City,Pop\nRome,2\n", [["City", "Pop"], ["Rome", "2"]]),
        ("\ufeffCity;Pop, total\r\nRome;2,8\r\n", [["City", "Pop, total"], ["Rome", "2,8"]]),
        ("City\tPop\nRome\t2", [["City", "Pop"], ["Rome", "2"]]),
        ("City\nRome\n\nOslo\n", [["City"], ["Rome"], ["Oslo"]]),
        ("a,a,\n1,,3\n", [["a", "a", ""], ["1", "", "3"]]),
        ('a,b\n"two\nlines","say ""x"", y"\n', [["a", "b"], ["two\nlines", 'say "x", y']]),
    ],
)
def test_delimiters_byte_order_mark_and_quotes(tmp_path: Path, content: str, expected: list[list[str]]) -> None:
    assert _texts(_table(tmp_path, content)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"City,Pop\n", "no rows below the header"),
        (b"City,Pop\nRome,2\nOslo,1,x\n", "line 3 has 3 fields, the header has 2"),
        (b'City,Pop\n"a\nb",2\nOslo\n', "line 4 has 1 field, the header has 2"),
        (b"City,Pop\nRome,\xe92\n", "line 2 is not UTF-8"),
        ("City,Pop\nRome,2\n".encode("utf-16"), "line 1 is not UTF-8"),
        (b"City,Pop\nRome,\x002\n", "line 2 holds a NUL byte"),
        (b'City,Pop\nRome,"2\nOslo,1\n', "is a quote left open?"),
        (b"x" * (1 << 21), "line 1 is longer than"),
    ],
)
def test_broken_files_are_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = _table(tmp_path, content)
    with pytest.raises(UserError) as error:
        read_csv(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            read_csv(path)


def test_too_many_rows_fail_before_the_rest_is_read(tmp_path: Path) -> None:
    rest = b"\xff not text" * 10  # would be reported if it were reached
    path = _table(tmp_path, b"n\n" + b"1\n" * (MAX_ROWS + 100) + rest)
    with pytest.raises(UserError, match=f"more than {MAX_ROWS} rows"):
        read_csv(path)
    assert read_csv(_table(tmp_path, b"n\n" + b"1\n" * MAX_ROWS)).num_rows == MAX_ROWS


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    line = b",".join([b"x" * 99_999] * 10) + b"\n"
    path = _table(tmp_path, line * (MAX_BYTES // len(line) + 1))
    with pytest.raises(UserError, match=f"larger than {MAX_BYTES >> 20} MiB; ask about a smaller table"):
        read_csv(path)
