"""CSV tables of ``mate predict`` against Python's own csv module and against broken files."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from mate_cli.tables.user_csv import FOUND, CsvFormat, open_csv
from mate_cli.tables.user_limits import MAX_BYTES, MAX_ROWS

_FIELD = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)


def write_table(folder: Path, content: bytes | str) -> Path:
    path = folder / "cities.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_texts(path: Path, given: CsvFormat = FOUND) -> list[list[str]]:
    table, _ = open_csv(path, given)
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


@settings(max_examples=60)
@given(
    st.integers(2, 5).flatmap(lambda width: st.lists(st.lists(_FIELD, min_size=width, max_size=width), min_size=2)),
    st.sampled_from([",", ";", "\t"]),
)
def test_reads_back_what_the_csv_module_wrote(rows: list[list[str]], delimiter: str) -> None:
    # A first row with a single text is taken for a title.
    assume(sum(bool(field.strip()) for field in rows[0]) != 1)
    # Only where no other delimiter stands in the text is the choice free of doubt; a bar within quotes is none.
    rows = [[field.translate({ord(sign): "." for sign in ",;\t"}) for field in row] for row in rows]
    assume(any(map(str.strip, rows[0])))
    expected = [[field.strip() for field in row] for row in rows if any(map(str.strip, row))]
    assume(len(expected) > 1)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        assert read_texts(write_table(Path(folder), text.getvalue())) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("City,Pop\nRome,2\n", [["City", "Pop"], ["Rome", "2"]]),
        ("\ufeffCity;Pop, total\r\nRome;2,8\r\n", [["City", "Pop, total"], ["Rome", "2,8"]]),
        ("City\tPop\nRome\t2", [["City", "Pop"], ["Rome", "2"]]),
        ("City\nRome\n\nOslo\n", [["City"], ["Rome"], ["Oslo"]]),
        ("a,a,\n1,,3\n", [["a", "a", ""], ["1", "", "3"]]),
        ("City,Pop\nRome,2\n,\n , \n", [["City", "Pop"], ["Rome", "2"]]),  # as spreadsheets write below a table
        ("City,Low\nOslo,\u221212\nRome,\u2013€3\n", [["City", "Low"], ["Oslo", "-12"], ["Rome", "-€3"]]),
        (
            'City, Site\n"Rome, IT", "Forum, old"\nOslo, "Fram"\n',
            [["City", "Site"], ["Rome, IT", "Forum, old"], ["Oslo", "Fram"]],
        ),
        ('City; Site\nRome; "Forum; old"\n', [["City", "Site"], ["Rome", "Forum; old"]]),
        ('City, Said\nRome, "yes" and "no"\n', [["City", "Said"], ["Rome", '"yes" and "no"']]),
        ('City, Said\nRome, "\nOslo, no\n', [["City", "Said"], ["Rome", '"'], ["Oslo", "no"]]),
        ('City\tSite\n\t "Fram"\n', [["City", "Site"], ["", '"Fram"']]),
        ('"a","|b|"\n"","|"\n', [["a", "|b|"], ["", "|"]]),
        ('a,b\n"two\nlines","say ""x"", y"\n', [["a", "b"], ["two\nlines", 'say "x", y']]),
    ],
)
def test_delimiters_byte_order_mark_and_quotes(tmp_path: Path, content: str, expected: list[list[str]]) -> None:
    assert read_texts(write_table(tmp_path, content)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"City,Pop\n", "no rows below the header"),
        (b"City,Pop\nRome,2\nOslo,1,x\n", "line 3 has 3 fields, the header has 2"),
        (b'City,Pop\n"a\nb",2\nOslo\n', "line 4 has 1 field, the header has 2"),
        (b"City,Pop\nRome,2\nSource: X\n", "the header has 2; remove the line, or set separator="),
        (b"City;Pop\nRome;2\nSource: X,Y\n", "line 3 has 1 field, the header has 2; remove the line"),
        (b"City,Tags\nRome,x;y\nOslo,z;w,q\n", "line 3 has 3 fields, the header has 2; quote a field"),
        (
            b"Sales, 2020\ncity,n,m\nRome,1,2\n",
            "line 2 has 3 fields, the header has 2; set header_row=2 if that is the",
        ),
        (b"City,Pop,Area\nRome,2\nOslo,3\n", "the header has 3; set header_row=2 if that is the header, or leave out"),
        (bytes(range(128, 256)) * 9, "line 1 is not UTF-8, and no other encoding fits"),
        (b"\xff\xfeC", "line 1 is not UTF-16"),
        (b"City,Pop\nRome,\x002\n", "line 2 holds a NUL byte"),
        (b'City,Pop\nRome,"2\nOslo,1\n', "is a quote left open?"),
        (b"x" * (1 << 21), "line 1 is longer than"),
    ],
)
def test_broken_files_are_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = write_table(tmp_path, content)
    with pytest.raises(UserError) as error:
        open_csv(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            open_csv(path)


def test_too_many_rows_fail_before_the_rest_is_read(tmp_path: Path) -> None:
    rest = b"\xff not text" * 10  # would be reported if it were reached
    path = write_table(tmp_path, b"n\n" + b"1\n" * (MAX_ROWS + 100) + rest)
    with pytest.raises(UserError, match=f"more than {MAX_ROWS} rows"):
        open_csv(path)
    assert open_csv(write_table(tmp_path, b"n\n" + b"1\n" * MAX_ROWS))[0].num_rows == MAX_ROWS


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    line = b",".join([b"x" * 99_999] * 10) + b"\n"
    path = write_table(tmp_path, line * (MAX_BYTES // len(line) + 1))
    with pytest.raises(UserError, match=f"larger than {MAX_BYTES >> 20} MiB; ask about a smaller table"):
        open_csv(path)


@pytest.mark.parametrize(
    ("content", "header_row", "title"),
    [
        ("Towns of the north\n\ncity,mayor\nBirch,Bob\nAlder,Ann\n", 3, "Towns of the north"),
        ("Towns\nof 2020\ncity;mayor\nBirch;Bob, Moe\nAlder;Ann, Lee\n", 3, "Towns of 2020"),
        ("Towns,,\ncity,mayor,size\nBirch,Bob,1\n", 2, "Towns"),
        ("Towns\ncity,mayor,size\nBirch,Bob,1\nAlder,Ann,2\n", 2, "Towns"),
        ("Towns\ncity,mayor\nBirch,Bob\nAlder,Ann\n", 2, "Towns"),
        ("Population\ncity,2020\nBirch,800\nAlder,900\n", 2, "Population"),
        ("sep=|\ncity|mayor\nBirch|Bob\n", 2, "cities"),
        ("\n\ncity,mayor\nBirch,Bob\n", 3, "cities"),
        ("Sales of 2020, in EUR\ncity;price\nBirch;1,50\nAlder;2,30\n", 2, "Sales of 2020, in EUR"),
        ("As of 1.1.2020, draft\n\ncity;mayor\nBirch;Bob\nAlder;Ann\n", 3, "As of 1.1.2020, draft"),
        ("Sales, in EUR\nAs of May, 2020\n\ncity;price\nBirch;1,50\nAlder;2\n", 4, "Sales, in EUR As of May, 2020"),
        ("Sales; 2020\ncity,mayor\nBirch,Bob\nAlder,Ann\n", 2, "Sales; 2020"),
        ("Town\nRome, Italy\nOslo, Norway\n", 1, "cities"),
        (",people\nBirch,8\nAlder,9\n", 1, "cities"),
        ("city,\nBirch,8\nAlder,9\n", 1, "cities"),
    ],
)
def test_the_row_of_the_header_is_found_and_said(content: str, header_row: int, title: str, tmp_path: Path) -> None:
    path = write_table(tmp_path, content)
    table, remark = open_csv(path)
    assert table.title == title
    assert (f"header_row={header_row}" in (remark or "")) == (header_row > 1)
    lines = content.splitlines()[header_row - 1 :]
    separator = next((sign for sign in ";|" if sign in lines[0]), ",")
    rows = list(csv.reader(lines, delimiter=separator)) if "Rome" not in content else [[line] for line in lines]
    assert read_texts(path) == rows


@pytest.mark.parametrize("texts", [("1,200", "3,400"), ("$1,200", "$ 3,400"), ("5,-", "7,-"), ("Ann, Lee", "Bo, Moe")])
def test_commas_in_the_texts_of_a_column_separate_nothing(texts: tuple[str, str], tmp_path: Path) -> None:
    assert read_texts(write_table(tmp_path, "Price\n" + "".join(f"{text}\n" for text in texts)))[1:] == [
        [text] for text in texts
    ]


def test_a_separator_and_a_header_row_that_are_given_count(tmp_path: Path) -> None:
    path = write_table(tmp_path, "source,office\ncity,mayor\nBirch,Bob\n")
    assert read_texts(path, CsvFormat(header_row=2)) == [["city", "mayor"], ["Birch", "Bob"]]
    assert read_texts(path, CsvFormat(header_row=0))[:2] == [["column 1", "column 2"], ["source", "office"]]
    assert read_texts(write_table(tmp_path, "a;x:b\n1;2:3\n"), CsvFormat(separator=":")) == [["a;x", "b"], ["1;2", "3"]]
    path = write_table(tmp_path, "source,office\ncity,mayor\nBirch,Bob\n")
    assert open_csv(path, CsvFormat(header_row=2))[1] is None
    for row in (4, 9):
        with pytest.raises(UserError, match=f"header_row={row}: there is no such row, or it is blank"):
            open_csv(write_table(tmp_path, "a\nb\nc\n\nd\n"), CsvFormat(header_row=row))


@pytest.mark.parametrize(
    "content",
    [
        "Alder,1200\nBirch,800\n",
        "1,Alder,1200\n2,Birch,800\n3,Cedar,\n",
        "Heat,1995,8.3\nAlien,1979,8.5\n",
        "Heat,1995\nAlien,1979\n",
        "3,2,1\n6,5,4\n",
        '"Alder","1,200",-3\n"Birch",800,2.5\n',
    ],
)
def test_a_header_that_looks_like_data_is_said(content: str, tmp_path: Path) -> None:
    path = write_table(tmp_path, content)
    first = next(csv.reader(content.splitlines()))
    assert open_csv(path)[1] == (
        f"{path}: the header, {', '.join(first)!r}, looks like data; if there is no header, set header_row=0"
    )
    assert open_csv(path, CsvFormat(header_row=1))[1] is None
    assert read_texts(path, CsvFormat(header_row=0))[1] == first


@pytest.mark.parametrize(
    "content",
    [
        "city,2019,2020,2021\nAlder,1200,1210,1250\n",
        "city,1950,2020\nAlder,1200,1950\nBirch,2,3\n",
        "city,rank,2020\nAlder,1,1250\n",
        "city,2020\nAlder,1250\n",
        ",1,2,3\nAnn,0,2,1\n",
        "team,1,2\nReds,5,7\n",
        "name,0.25,0.5,0.75\nx,1,4,9\n",
        "name,1200\nx,many\n",
        "name,1200\nx,\n",
        "city,mayor\nAlder,Ann\n",
        "city,people\nAlder,1200\n",
        "city,5,9,x\nAlder,1,2,3\n",
    ],
)
def test_numbers_as_headers_are_no_remark(content: str, tmp_path: Path) -> None:
    assert open_csv(write_table(tmp_path, content))[1] is None


def test_a_doubtful_header_is_said_behind_what_else_was_found(tmp_path: Path) -> None:
    path = write_table(tmp_path, "Alder;1200\nBirch;800\n")
    found, doubt = (open_csv(path)[1] or "").split(f"; {path}: ")
    assert found == f"{path}: read with separator=;, as its content suggests; if that is wrong, set it"
    assert doubt == "the header, 'Alder, 1200', looks like data; if there is no header, set header_row=0"


def test_blank_lines_take_no_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = write_table(tmp_path, "a\n" + "\n" * (1 << 20) + "b\n")
    tracemalloc.start()
    try:
        assert read_texts(path) == [["a"], ["b"]]
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_the_bar_of_a_link_separates_no_fields(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Town\n[[Elm|the elm]]\n[[Oak|an oak]]\n")
    table, remark = open_csv(tmp_path / "t.csv")
    assert ([cell.text for cell in table.header], table.num_rows, remark) == (["Town"], 2, None)
