"""Tables in workbooks: written by openpyxl or by hand, read as what a person sees."""

from __future__ import annotations

import re
import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables import user_workbook
from mate_cli.tables.user_limits import MAX_COLUMNS, MAX_ROWS
from mate_cli.tables.user_table import open_table, read_table

ROWS = [["Peak", "Height", "Climbed"], ["Eiger", 3967, date(1921, 9, 10)], ["Mönch", 4110.5, None]]
TEXTS = [["Peak", "Height", "Climbed"], ["Eiger", "3967", "1921-09-10"], ["Mönch", "4110.5", ""]]


def texts(place: str | Path) -> list[list[str]]:
    table = read_table(place)
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_sheet_is_read_as_it_looks(tmp_path: Path) -> None:
    path = workbook(tmp_path / "peaks.xlsx", Peaks=ROWS)
    assert texts(path) == TEXTS
    assert read_table(path).title == "peaks"
    assert read_table(f"{path}#Peaks").title == "Peaks"


def test_values_of_every_type(tmp_path: Path) -> None:
    values = [True, 0.1, 1e20, -3, datetime(2020, 1, 2, 3, 4), time(5, 6), " x ", None]
    path = workbook(tmp_path / "t.xlsx", T=[[*"abcdefgh"], values])
    assert texts(path)[1] == ["true", "0.1", "100000000000000000000", "-3", "2020-01-02 03:04:00", "05:06:00", "x", ""]


def test_empty_lines_go_and_a_line_above_is_the_title(tmp_path: Path) -> None:
    rows = [[], [None, "Peaks of the Alps"], [], *[[None, *row] for row in ROWS], [], [None, "end", 1]]
    path = workbook(tmp_path / "t.xlsx", T=rows)
    assert texts(path) == [*TEXTS, ["end", "1", ""]]
    table, remark = open_table(path)
    assert table.title == "Peaks of the Alps"
    assert remark == f"{path}: 'Peaks of the Alps' above the header is taken for the title of the table"


@pytest.mark.parametrize("header", [["Product", None], [None, "Sales"], ["score", "score"]])
def test_a_header_with_one_text_is_no_title(header: list[str | None], tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", T=[header, ["A", 5], ["B", 7]])
    assert texts(path) == [[text or "" for text in header], ["A", "5"], ["B", "7"]]
    assert open_table(path)[1] is None


def test_a_text_merged_over_all_columns_is_a_title_of_two_columns_too(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", T=[["Sales", None], ["item", "sold"], ["A", 5]])
    book = openpyxl.load_workbook(path)
    book["T"].merge_cells("A1:B1")
    book.save(path)
    assert texts(path) == [["item", "sold"], ["A", "5"]]
    assert read_table(path).title == "Sales"


def merged(path: Path, rows: list[list[Any]], *ranges: str) -> Path:
    workbook(path, T=rows)
    book = openpyxl.load_workbook(path)
    for cells in ranges:
        book["T"].merge_cells(cells)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("rows", "ranges", "header"),
    [
        (
            [["Team", "Goals", None, "Points"], [None, "home", "away", None], ["Red", 3, 4, 7]],
            ["A1:A2", "B1:C1"],
            ["Team", "Goals home", "Goals away", "Points"],
        ),
        ([[None, 2020, None], ["City", "Q1", "Q2"], ["Alder", 1, 2]], ["B1:C1"], ["City", "2020 Q1", "2020 Q2"]),
        (
            [["City", "People", None], [None, 2020, 2021], ["Alder", 1, 2]],
            ["B1:C1"],
            ["City", "People 2020", "People 2021"],
        ),
        (
            [["Of 2020", None, None], ["x", "y", None], [None, "z", None], [None, "a", "b"], [1, 2, 3]],
            ["A1:C1", "A2:A4", "B2:C2", "B3:C3"],
            ["x", "y z a", "y z b"],
        ),
    ],
)
def test_a_header_of_several_rows_is_joined_and_said(
    rows: list[list[Any]], ranges: list[str], header: list[str], tmp_path: Path
) -> None:
    path = merged(tmp_path / "t.xlsx", rows, *ranges)
    table, remark = open_table(path)
    assert [cell.text for cell in table.header] == header
    assert table.num_rows == 1
    count = len(rows) - 1 - (rows[0][0] == "Of 2020")
    said = f"{path}: {count} rows are joined to the header, as cells of it are merged; if that is wrong, split these"
    assert said in (remark or "")


@pytest.mark.parametrize(
    "rows", [[["Name", None, "Town"], ["Ann", "Lee", "Oslo"]], [["Low", None, "Town"], [7, 2, None], [5, 3, "Oslo"]]]
)
def test_data_below_a_merged_cell_is_no_header(rows: list[list[Any]], tmp_path: Path) -> None:
    path = merged(tmp_path / "t.xlsx", [*rows, rows[-1]], "A1:B1")
    assert texts(path)[0] == [rows[0][0], rows[0][0], "Town"]
    assert read_table(path).num_rows == len(rows)


def test_a_title_merged_over_rows_and_columns(tmp_path: Path) -> None:
    rows = [["Sales", None], [None, None], ["item", "sold"], ["A", 5]]
    path = merged(tmp_path / "t.xlsx", rows, "A1:B2")
    assert texts(path) == [["item", "sold"], ["A", "5"]]
    assert read_table(path).title == "Sales"


def test_a_header_that_looks_like_data_is_said(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", T=[["Heat", 1995], ["Alien", 1979]], U=[["Film", 2020], ["Heat", 3]])
    assert open_table(f"{path}#T")[1] == (
        f"{path}: the header, 'Heat, 1995', looks like data; if there is no header, write one above it"
    )
    assert open_table(f"{path}#U")[1] is None


def test_a_number_merged_over_rows_is_said(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", T=[["item", "budget"], ["A", 100], ["B", None], ["C", 50]])
    book = openpyxl.load_workbook(path)
    book["T"].merge_cells("B2:B3")
    book.save(path)
    table, remark = open_table(path)
    assert [row[1].text for row in table.rows] == ["100", "100", "50"]
    assert remark is not None
    assert "1 number is merged over several rows" in remark


def test_merged_cells_repeat_their_text_and_formulas_have_their_last_value(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", T=[["Team", "Player", "Goals"], ["Red", "Ann", 3], [None, "Bo", 4]])
    book = openpyxl.load_workbook(path)
    sheet = book["T"]
    sheet.merge_cells("A2:A3")
    sheet["C4"] = "=SUM(C2:C3)"  # openpyxl saves no value with it
    sheet["B4"] = "all"
    book.save(path)
    assert texts(path) == [["Team", "Player", "Goals"], ["Red", "Ann", "3"], ["Red", "Bo", "4"], ["", "all", ""]]


def test_a_stray_cell_far_below_counts_as_one_row(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", T=ROWS)
    book = openpyxl.load_workbook(path)
    book["T"]["B20000"] = "checked"
    book.save(path)
    assert texts(path) == [*TEXTS, ["", "checked", ""]]


def test_merged_cells_are_found_beside_empty_columns_and_rows(tmp_path: Path) -> None:
    rows = [[], [None, "Team", "Goals"], [None, "Red", 3], [None, None, 4], [], [None, "Blue", 5], [None, "-", None]]
    path = workbook(tmp_path / "t.xlsx", T=rows)
    book = openpyxl.load_workbook(path)
    for cells in ("B3:B5", "B7:C7"):
        book["T"].merge_cells(cells)
    book.save(path)
    assert texts(path) == [["Team", "Goals"], ["Red", "3"], ["Red", "4"], ["Red", ""], ["Blue", "5"], ["-", "-"]]


def test_formulas_without_a_saved_value_are_counted(tmp_path: Path) -> None:
    rows = [["Player", "Goals", "Double"], ["Ann", 3, "=B2*2"], ["Bo", 4, "=B3*2"]]
    path = workbook(tmp_path / "t.xlsx", Plain=ROWS, Goals=rows, One=[["n", "twice"], [1, "=A2*2"]])
    assert open_table(f"{path}#Plain")[1] is None
    table, remark = open_table(f"{path}#Goals")
    assert [row[2].text for row in table.rows] == ["", ""]
    assert remark == (
        f"{path}: 2 formulas without a saved value are empty here; open and save the file in a spreadsheet program"
    )
    assert "t.xlsx: 1 formula without a saved value is empty here" in (open_table(f"{path}#One")[1] or "")


def test_cells_with_errors_are_counted_and_named(tmp_path: Path) -> None:
    rows = [["Player", "Goals", "Mean"], ["Ann", 0, "#DIV/0!"], ["Bo", "#N/A", "#DIV/0!"], ["#hash", 1, 2]]
    path = workbook(tmp_path / "t.xlsx", T=rows, One=[["n"], [1], ["#REF!"]])
    table, remark = open_table(f"{path}#T")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["Ann", "0", ""],
        ["Bo", "", ""],
        ["#hash", "1", "2"],
    ]
    assert remark == f"{path}: 3 cells with errors are empty here (#DIV/0!, #N/A); mend them in a spreadsheet program"
    assert "t.xlsx: 1 cell with an error is empty here (#REF!)" in (open_table(f"{path}#One")[1] or "")


@pytest.mark.parametrize("cell", ["<c r='A2'><f>1+1</f><v>2</v></c>", "<c r='A2' t='str'><f>T(1)</f><v></v></c>"])
def test_formulas_with_a_saved_value_are_not_counted(cell: str, tmp_path: Path) -> None:
    """Also an empty text, which spreadsheet programs save with its type."""
    whole = workbook(tmp_path / "whole.xlsx", T=[["n", "m"], ["=1+1", 5]])
    assert open_table(whole)[1] is not None
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as new:
        for part in old.namelist():
            content = old.read(part).decode()
            new.writestr(part, re.sub('<c r="A2".*?</c>', cell, content))
    assert open_table(tmp_path / "t.xlsx")[1] is None


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", Peaks=ROWS, Empty=[], Lakes=[["Lake"], ["Thun"]])
    assert texts(f"{path}#Lakes") == [["Lake"], ["Thun"]]
    with pytest.raises(UserError, match=r"2 sheets have cells \(Peaks, Lakes\); name one: table='.*t.xlsx#Peaks'"):
        read_table(path)
    with pytest.raises(UserError, match=r"unknown sheet 'Lake': did you mean Lakes\?"):
        read_table(f"{path}#Lake")
    with pytest.raises(UserError, match="no rows below the header"):
        read_table(workbook(tmp_path / "h.xlsx", T=[["Lake"]]))
    with pytest.raises(UserError, match="no sheet has a cell with a value"):
        read_table(workbook(tmp_path / "e.xlsx", T=[]))


def test_an_opendocument_sheet(tmp_path: Path) -> None:
    space = 'xmlns:{0}="urn:oasis:names:tc:opendocument:xmlns:{0}:1.0"'
    spaces = " ".join(space.format(name) for name in ("office", "table", "text"))
    rows = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>' for text in row
        )
        + "</table:table-row>"
        for row in TEXTS
    )
    sheet = f'<table:table table:name="Peaks">{rows}</table:table>'
    content = f"<office:document-content {spaces}><office:body><office:spreadsheet>{sheet}</office:spreadsheet>"
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", "<manifest/>")
        file.writestr("content.xml", content + "</office:body></office:document-content>")
    assert texts(tmp_path / "t.ods") == TEXTS


@pytest.mark.parametrize("ending", ["xlsx", "ods", "xls", "xlsb"])
@pytest.mark.parametrize("content", [b"", b"no workbook", b"PK\x03\x04 cut"])
def test_what_is_no_workbook_is_one_line(ending: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"t.{ending}: cannot be read as a workbook") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_a_cut_workbook_is_one_line(tmp_path: Path) -> None:
    whole = workbook(tmp_path / "t.xlsx", T=ROWS).read_bytes()
    for length in range(0, len(whole), 500):
        (tmp_path / "cut.xlsx").write_bytes(whole[:length])
        with pytest.raises(UserError, match="cannot be read as a workbook"):
            read_table(tmp_path / "cut.xlsx")


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = workbook(tmp_path / "long.xlsx", T=[["n"], *([number] for number in range(MAX_ROWS + 1))])
    with pytest.raises(UserError, match=f"more than {MAX_ROWS} rows"):
        read_table(long)
    wide = workbook(tmp_path / "wide.xlsx", T=[["n"], [*range(MAX_COLUMNS + 1)]])
    with pytest.raises(UserError, match=f"more than {MAX_COLUMNS} columns"):
        read_table(wide)
    monkeypatch.setattr(user_workbook, "_MOST_UNPACKED", 1000)
    with pytest.raises(UserError, match="unpacks to more than 0 MiB"):
        read_table(long)
    with pytest.raises(UserError, match="cannot be read"):
        read_table(tmp_path / "none.xlsx")
