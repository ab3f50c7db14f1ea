"""Ways to spoil a file: edits, of which hypothesis draws a few and keeps those that a failure needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from hypothesis import strategies as st


class Edit(NamedTuple):
    """What is done, where (in ten thousandths of the whole), and with which of the nasty values."""

    kind: int
    place: int
    value: int


EDITS = st.lists(st.builds(Edit, st.integers(0, 7), st.integers(0, 9999), st.integers(0, 99)), min_size=1, max_size=4)

NASTY_TEXTS = (
    *("", " ", "\t", "\n", "\r\n", "\0", "\x1b[2J", "\x85", "\u2028", "\ufeff", "\ufffe", "\u200b", "\xa0"),
    *(
        "\u202e\u05d0\u05d1",
        "\u0645\u0631\u062d\u0628\u0627",
        "e\u0301\u0302\u0303",
        "\u0301",
        "\u0130",
        "\u03a3",
        "\ufb03",
    ),
    *("\U0001f600", "\U0010ffff", "\u3000", "\ufdfa", "Z" + "\u0300" * 300, "x" * 5000, "a " * 500, "9" * 5000),
    *("1e999", "-0", "nan", "inf", "1_000", "\u0663", "\u00b2", "12/31/9999", "31 February 2001", "0x10"),
    *('"', "'", '""', "\\", "\\n\\p\\\\", "a|b|", "|", ",", ";", "#", "/", "..", "../../x", "/etc/passwd", "a" * 300),
    *("[[key|words]]", "[[", "[a]", " (b)", "(", "n/a", "?", "None", "[]", "['(0, 0)']", "['\\ud800']", "<td>", "&#9;"),
)
"""Texts that parsers of tables have stumbled over, ours and others'."""

NASTY_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, 1e308, float("nan"), float("inf"), 2**63, -(2**70), 10**30),
    *([], {}, [[]], [{}], {"": ""}, {"data": []}, {"header": [], "data": []}, [None], ["", []], ["a", ["b", 1]]),
    *(
        "\ud800",
        "\udfff\ud800",
        ["\udc80", ["\ud800"]],
        {"\ud800": "\ud800"},
        [["[" * 50]],
        json.loads("[" * 90 + "]" * 90),
    ),
    *NASTY_TEXTS,
)

NASTY_BYTES = (
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\0" * 9, b"\xef\xbb\xbf", b"\xff\xfe", b"\x80" * 40),
    *(b'"', b"'", b"\\", b"\\u", b"\\ud800", b"\\udc00\\ud83d", b"[", b"]", b"{", b"}", b"[" * 2000, b"{" * 300),
    *(b"1e400", b"-", b"NaN", b"9" * 5000, b"null", b"true", b"\n", b"\r", b"\r\n\r\n", b"\t", b",", b":", b";", b"#"),
    *(b"<", b">", b"<!--", b"-->", b"<![", b"<![abc[", b"<!", b"<?", b"</", b"</table>", b"<table>", b"<tr>", b"<td>"),
    *(b"<td rowspan=9999>", b"<td colspan=999 rowspan=0>", b"<thead>", b"<script>", b"<style>", b"&#xD800;", b"&#99"),
    *(b"&#" + b"9" * 5000 + b";", b"&amp", b"&", b"<caption>", b"<a x='", b'<a x="', b"<th>", b"<br/>", b"colspan="),
    *(text.encode("utf-8") for text in NASTY_TEXTS),
)


def edited(content: bytes, edits: Sequence[Edit]) -> bytes:
    """A file's bytes after some edits."""
    for edit in edits:
        at = edit.place * (len(content) + 1) // 10_000
        content = _BYTE_EDITS[edit.kind % len(_BYTE_EDITS)](content, at, edit.value)
    return content


def edited_json(content: bytes, edits: Sequence[Edit]) -> bytes:
    """A JSON file after edits of what it holds, the last one maybe of its bytes."""
    tree = json.loads(content)
    for edit in edits:
        if edit.kind == 7:
            return edited(_dumped(tree), [edit._replace(kind=edit.value)])
        tree = _edited_tree(tree, edit)
    return _dumped(tree)


def edited_lines(content: bytes, edits: Sequence[Edit]) -> bytes:
    """A file of JSON lines after edits of one of its lines, or of its bytes."""
    lines = content.splitlines()
    if edits[0].kind == 7:
        return edited(content, edits)
    number = edits[0].place % len(lines)
    lines[number] = edited_json(lines[number], edits)
    return b"\n".join(lines)


def _edited_tree(tree: Any, edit: Edit) -> Any:
    """The tree with one node replaced, left out, put twice or wrapped."""
    places = list(_places(tree))
    nasty = NASTY_VALUES[edit.value % len(NASTY_VALUES)]
    if not places:
        return deepcopy(nasty)
    holder, key = places[edit.place * len(places) // 10_000]
    match edit.kind:
        case 0:
            del holder[key]
        case 1:
            holder[key] = [holder[key]]
        case 2 if isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        case 3 if isinstance(holder, list):
            holder.insert(key, deepcopy(nasty))
        case 2 | 3:
            holder[str(nasty)] = holder.pop(key)
        case _:
            holder[key] = deepcopy(nasty)
    return tree


def _places(tree: Any) -> Any:
    """Every holder with a key in it, parents before children."""
    keys: Any = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def _dumped(tree: Any) -> bytes:
    return json.dumps(tree).encode()


_BYTE_EDITS: tuple[Callable[[bytes, int, int], bytes], ...] = (
    lambda content, at, value: content[:at] + NASTY_BYTES[value % len(NASTY_BYTES)] + content[at:],
    lambda content, at, value: content[:at] + NASTY_BYTES[(value + 50) % len(NASTY_BYTES)] + content[at + 1 :],
    lambda content, at, value: content[:at],
    lambda content, at, value: content[:at] + content[at + value + 1 :],
    lambda content, at, value: content[: at + value] + content[at:],
    lambda content, at, value: content[:at] + bytes([value * 5 % 256]) + content[at + 1 :],
    lambda content, at, value: content[:at] + content[at : at + 9] * value + content[at + 9 :],
    lambda content, at, value: content[at:] + content[:at],
)
