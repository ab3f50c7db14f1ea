"""A compressed text file is read as what it holds; a broken one, or one that unpacks to too much, is one clear line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables import text_files
from mate_cli.tables.table_folder import TableFolder
from mate_cli.tables.text_files import read_json
from mate_cli.tables.user_limits import MAX_BYTES
from mate_cli.tables.user_table import open_table, read_table

_PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
_TEXTS = {
    ".csv": "city;people\nRome;2\n",
    ".json": '[{"city": "Rome", "people": 2}]',
    ".html": "<table><tr><th>city<th>people<tr><td>Rome<td>2</table>",
}


@pytest.mark.parametrize("compression", _PACKED)
@pytest.mark.parametrize("ending", _TEXTS)
def test_it_is_the_file_before_compression(tmp_path: Path, ending: str, compression: str) -> None:
    (tmp_path / f"towns{ending}").write_text(_TEXTS[ending])
    packed = tmp_path / f"towns{ending}{compression.upper()}"
    packed.write_bytes(_PACKED[compression](_TEXTS[ending].encode()))
    table, plain = read_table(packed), read_table(tmp_path / f"towns{ending}")
    assert (table.header, table.rows, table.title) == (plain.header, plain.rows, "towns")


def test_without_an_ending_of_its_own_it_is_csv_in_the_format_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "towns.gz").write_bytes(gzip.compress("city\nK\xf6ln\n".encode("cp1252")))
    table, remark = open_table(tmp_path / "towns.gz")
    assert [[cell.text for cell in row] for row in table.rows] == [["K\xf6ln"]]
    assert remark is not None
    assert "encoding=cp1252" in remark


@pytest.mark.parametrize("compression", _PACKED)
def test_what_is_broken_or_unpacks_to_too_much(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"t.csv{compression}"
    whole = _PACKED[compression](os.urandom(1 << 12))
    for content in (b"a,b\n1,2\n", whole[: len(whole) // 2], whole[:-20] + bytes(20)):
        path.write_bytes(content)
        with pytest.raises(UserError, match=rf"^table=.*t.csv{compression}: cannot be read \([^\n]+\)$"):
            read_table(path)
    path.write_bytes(_PACKED[compression](bytes(MAX_BYTES + 1)))
    with pytest.raises(UserError, match="larger than 32 MiB; ask about a smaller table"):
        read_table(path)


def test_a_file_of_a_release_has_a_larger_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.json"
    path.write_text("[" + "1," * (1 << 20) + "1]")
    assert len(read_json(path)) == (1 << 20) + 1
    monkeypatch.setattr(text_files, "MAX_BYTES", 1 << 20)
    with pytest.raises(UserError, match=r"train.json: larger than 1 MiB; split it into smaller files"):
        read_json(path)


def test_only_texts_are_compressed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\(texts also with .gz, .bz2, .xz\), not .xlsx.gz; save it as one of them"):
        read_table(tmp_path / "t.xlsx.gz")
    with pytest.raises(UserError, match=r"a file in .csv is one table; leave out #2"):
        read_table(f"{tmp_path}/t.csv.gz#2")


def test_a_folder_of_tables_has_them(tmp_path: Path) -> None:
    (tmp_path / "towns.csv.gz").write_bytes(gzip.compress(b"city,people\nRome,2\n"))
    folder = TableFolder(tmp_path)
    assert folder.names == ["towns.csv.gz"]
    assert folder.read("towns.csv.gz").title == "towns"


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="only where standard input is a file")
def test_a_table_from_a_pipe() -> None:
    program = "from mate_cli.tables.user_table import read_table; print(read_table('/dev/stdin').rows[0][0].text)"
    done = subprocess.run([sys.executable, "-c", program], input="city\nRome\n", text=True, capture_output=True)
    assert done.stdout == "Rome\n", done.stderr
