"""Decode the text files of users: by their byte order mark, as UTF-8, or in the encoding that fits best."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from mate_cli.system.errors import UserError

WESTERN = "cp1252"
"""Windows' encoding of Western Europe, by far the most frequent one of spreadsheets after UTF-8."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # begins like the next
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF32_BE: "utf-32",
}
_EAST_ASIAN = ("cp932", "euc_jp", "gb18030", "big5", "cp949")
_CANDIDATES = [WESTERN, "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r", *_EAST_ASIAN]
_SAMPLE = 1 << 18  # bytes
_LETTER = r"[^\W\d_]"
_SIGN = re.compile(
    "|".join(
        (
            r"[\xa0€‚„…‰‹›‘’“”•–—™§©«»®°±²µ·½×÷]",
            rf"(?<!{_LETTER})[¢£¥³¼¾](?!{_LETTER})",  # in words, these are letters of Central Europe
            rf"(?<=m)³(?!{_LETTER})",
            r"£(?=(?:k|m|bn)\b)",
            r"(?<=\d)[ªº]",
            rf"(?<!{_LETTER})[¡¿](?=[A-ZÁÉÍÓÚÑ])",
        )
    )
)
_DEGREES = re.compile(rb"\xb0[CF]\b")
_ACCENTED = re.compile("(?<![À-ÿ])(?:(?<=[A-Za-z])[À-ÿ]|[À-ÿ](?=[A-Za-z]))(?![À-ÿ])")


def decoded(path: Path, content: bytes, encoding: str | None) -> tuple[str, str]:
    """Return the text of a file without a mark, and the encoding it is in.

    Args:
        encoding: that it is in; None: it is found.

    Raises:
        UserError: it is not in that encoding, or in none that is known.
    """
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    chosen = marked if encoding is None else encoding
    try:
        return content.decode("utf-8-sig" if codecs.lookup(chosen).name == "utf-8" else chosen), chosen
    except UnicodeError as error:
        best = _best(content) if encoding is None and marked == "utf-8" else None
        if best is None:
            line = content[: getattr(error, "start", 0)].count(10) + 1
            name = f"{marked.upper()}, and no other encoding fits" if encoding is None else encoding
            raise UserError(
                f"{path}: line {line} is not {name}; save the file as UTF-8, or name its encoding (mate predict "
                "encoding=...)"
            ) from error
        return content.decode(best), best


def _best(content: bytes) -> str | None:
    """Return the encoding whose text looks most like a language, of equal ones the Western one; None: none can be."""
    from charset_normalizer import from_bytes

    telling = b"\n".join(line for line in content.splitlines() if not line.isascii())[:_SAMPLE]
    if _decodes(content, WESTERN) and _has_western_signs(telling):
        return WESTERN
    matches = list(from_bytes(telling, cp_isolation=_CANDIDATES))
    clean = [name for match in matches if match.chaos <= matches[0].chaos for name in match.could_be_from_charset]
    names = [WESTERN] * (WESTERN in clean) + [match.encoding for match in matches] + [WESTERN]
    return next((name for name in names if _decodes(content, name)), None)


def _has_western_signs(telling: bytes) -> bool:
    """Return whether signs like "€" or "½", and single accented letters in words, are all that is beyond ASCII.

    Measures of languages take such a text for letters of another one, or for none; only pairs of bytes may be more.
    """
    rest, signs = _SIGN.subn("", telling.decode(WESTERN))
    if not signs or not _ACCENTED.sub("", rest).isascii():
        return False
    doubtful = _DEGREES.sub(b"", telling)
    return not any(_has_pairs(doubtful, name) for name in _EAST_ASIAN)


def _has_pairs(content: bytes, encoding: str) -> bool:
    """Return whether two bytes may be one character in an encoding."""
    return _decodes(content, encoding) and len(content.decode(encoding)) < len(content)


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeError:
        return False
    return True
