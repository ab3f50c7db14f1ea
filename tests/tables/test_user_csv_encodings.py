"""Encodings of CSV tables: found, said, or given."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.user_csv import CsvFormat, open_csv
from tests.tables.test_user_csv import read_texts, write_table

WESTERN = "Stadt;Bürgermeister\nKöln;Käthe Öz\nFürth;5 €\n"
FRENCH = "ville;maire\nNîmes;Hélène Lefèvre\nBesançon;François\n"
POLISH = "miasto;burmistrz\nŁódź;Zażółć Gęślą\nKraków;Jaźń Święta\n"
RUSSIAN = "город;мэр\nМосква;Сергей Собянин\nТверь;Алексей Огоньков\n"
GREEK = "πόλη;δήμαρχος\nΑθήνα;Χάρης Δούκας\nΠάτρα;Κώστας\n"
JAPANESE = "都市;市長\n東京;小池百合子\n大阪;横山英幸\nさいたま;清水勇人\n"
CHINESE = "城市;市长\n北京;殷勇\n上海;龚正\n广州;孙志洋\n"
KOREAN = "도시;시장\n서울;오세훈\n부산;박형준\n"


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        (WESTERN, "utf-8", None),
        (WESTERN, "utf-8-sig", None),
        (WESTERN, "utf-16", "utf-16"),
        (WESTERN, "utf-32", "utf-32"),
        (WESTERN, "cp1252", "cp1252"),
        ("Stadt;n\nKöln;1\n", "cp1252", "cp1252"),
        (FRENCH, "cp1252", "cp1252"),
        (POLISH, "cp1250", "cp1250"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN, "koi8_r", "koi8_r"),
        (GREEK, "cp1253", "cp1253"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (CHINESE, "gbk", "gb18030"),
        (KOREAN, "euc_kr", "cp949"),
    ],
)
def test_an_encoding_is_found_and_said(text: str, encoding: str, said: str | None, tmp_path: Path) -> None:
    """Files that Python's codecs wrote, among many lines without a letter beyond ASCII."""
    plain = "a;b\n" * 2000
    path = write_table(tmp_path, (text + plain).encode(encoding))
    rows = [line.split(";") for line in (text + plain).splitlines()]
    assert read_texts(path) == rows
    _, remark = open_csv(path)
    words = "separator=;" if said is None else f"encoding={said} separator=;"
    assert remark == f"{path}: read with {words}, as its content suggests; if that is wrong, set it"


@pytest.mark.parametrize(
    "text",
    [
        "item,price\nTea,€5\nCoffee,€7\n",
        "title\n“A”\n",
        "title\n“Café Lux” – the best\n",
        "brand\nA®\nB™\n",
        "Preis,€\nA,5 €\n",
        "Ort,Preis\nKöln,5 €\nÖls,6 €\n",
        "item,size\nX,3½\n",
        "size\n½\n30 °C\n±5\n",
        "low\n5 °C\n6 °F\n",
        "price\n£5\n£7\n",
        "size\n3×4\n",
        "rule\n§ 5\n",
        "share\n5‰\n",
        "question\n¿Qué?\n",
        "volume\n5 m³\n3¾ m³\n",
    ],
)
def test_a_short_western_file_with_signs_is_western(text: str, tmp_path: Path) -> None:
    path = write_table(tmp_path, text.encode("cp1252"))
    assert read_texts(path) == [line.split(",") for line in text.splitlines()]
    assert "encoding=cp1252" in (open_csv(path)[1] or "")


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("miasto,n\nŁódź,5\n", "cp1250", "cp1250"),
        ("obec\nĽubica\nPoľana\n", "cp1250", "cp1250"),
        ("misto,n\nКиїв,5\nЛьвів,6\n", "cp1251", "cp1251"),
        ("name\n田\n", "shift_jis", "cp932"),
        ("city,n\n台北,5\n", "big5", "big5"),
    ],
)
def test_letters_that_are_signs_in_western_are_not_taken_for_these(
    text: str, encoding: str, found: str, tmp_path: Path
) -> None:
    path = write_table(tmp_path, text.encode(encoding))
    assert read_texts(path) == [line.split(",") for line in text.splitlines()]
    assert f"encoding={found}" in (open_csv(path)[1] or "")


def test_an_encoding_that_is_given_counts(tmp_path: Path) -> None:
    path = write_table(tmp_path, "město,starosta\nPlzeň,Jiří\n".encode("cp1250"))
    assert read_texts(path, CsvFormat("cp1250"))[1] == ["Plzeň", "Jiří"]
    assert open_csv(path, CsvFormat("cp1250"))[1] is None
    assert read_texts(write_table(tmp_path, "a\nö\n".encode("utf-8-sig")), CsvFormat("utf8")) == [["a"], ["ö"]]
    with pytest.raises(UserError, match="line 1 is not ascii; save the file as UTF-8"):
        open_csv(path, CsvFormat("ascii"))
