"""BERT's uncased tokenizer over many short texts at once, with TAPAS's rule for empty cells (docs/notes.md, note 1)."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mate_cli.system.errors import UserError
from mate_cli.tables.text import is_empty

_MAX_WORD = 200  # characters; longer words become [UNK]
_TEXTS_PER_CALL = 500
_PADDING = 128  # rows of word embeddings are often rounded up to a multiple of 64 or 128


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a list of texts, concatenated.

    Attributes:
        ids: int32 ``[pieces]``.
        word_start: int32 ``[pieces]``, start of the piece's word, counted in pieces from the start of its text.
        starts: int64 ``[texts + 1]``, start of each text in ``ids``; every text has at least one piece.
        characters: int32 ``[pieces, 2]``, start and end (exclusive) of the piece's word in its text; None if not asked
            for.
    """

    ids: np.ndarray
    word_start: np.ndarray
    starts: np.ndarray
    characters: np.ndarray | None = None

    def of(self, text: int) -> np.ndarray:
        """Return the ids of one text, int32 ``[n]``."""
        return self.ids[self.starts[text] : self.starts[text + 1]]


class CellTokenizer:
    """Split texts into word pieces: lower case, accents stripped, punctuation split; "[SEP]" in a text is plain text.

    A text without a word character, "n/a" and "?" become the single piece [EMPTY], called [unused0] in a BERT
    vocabulary. Words of more than 200 characters become [UNK].

    Args:
        folder: has ``vocab.txt`` or ``tokenizer.json`` of an uncased BERT vocabulary.

    Raises:
        UserError: it has neither, or a special piece is missing in the vocabulary.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.vocabulary = _read_vocabulary(self.folder)
        self.cls, self.sep = self._needed("[CLS]"), self._needed("[SEP]")
        self.empty = self._needed("[EMPTY]", "[unused0]")
        self._needed("[UNK]")
        words = WordPiece(self.vocabulary, unk_token="[UNK]", max_input_chars_per_word=_MAX_WORD)
        self._tokenizer = Tokenizer(words)
        self._tokenizer.normalizer = BertNormalizer(lowercase=False, strip_accents=True)
        self._tokenizer.pre_tokenizer = BertPreTokenizer()
        self._pieces = np.full(max(self.vocabulary.values()) + 1, "", dtype=object)
        self._pieces[list(self.vocabulary.values())] = list(self.vocabulary)
        self._is_continuation = np.array([piece.startswith("##") for piece in self._pieces])

    @property
    def fingerprint(self) -> str:
        """Hash of the vocabulary."""
        return hashlib.sha256(json.dumps(sorted(self.vocabulary.items())).encode()).hexdigest()

    @property
    def mask(self) -> int:
        """Id of [MASK].

        Raises:
            UserError: the vocabulary has none.
        """
        return self._needed("[MASK]")

    def check_fits(self, rows: int) -> None:
        """Check that word embeddings with ``rows`` rows, padded or not, belong to this vocabulary.

        Raises:
            UserError: a piece has no embedding, or many embeddings have no piece.
        """
        if not rows - _PADDING < len(self._pieces) <= rows:
            raise UserError(
                f"the vocabulary in {self.folder} has {len(self._pieces)} pieces, the model's word embeddings have "
                f"{rows} rows; use the vocabulary that the model was trained with"
            )

    def write(self, path: Path) -> None:
        """Write ``vocab.txt`` with TAPAS's name [EMPTY] for the piece of empty cells.

        Raises:
            OSError: it cannot be written.
        """
        pieces = self._pieces.copy()
        pieces[self.empty] = "[EMPTY]"
        path.write_text("\n".join(pieces) + "\n", encoding="utf-8")

    def batch(self, texts: Sequence[str], characters: bool = False) -> Pieces:
        """Tokenize texts, in order; ``characters`` adds the characters of each piece's word."""
        # Lower case here, because the Rust part knows no final sigma. A text without a piece becomes [EMPTY].
        counts, pieces, offsets = self._encode(["" if is_empty(text) else text.lower() for text in texts], characters)
        lengths = np.maximum(counts, 1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.full(starts[-1], self.empty, dtype=np.int32)
        ids[np.repeat(counts > 0, lengths)] = pieces
        # A word never begins with "##", and every text begins a word: no need to ask the tokenizer for words.
        places = np.where(self._is_continuation[ids], 0, np.arange(len(ids)))
        word_start = np.maximum.accumulate(places) - np.repeat(starts[:-1], lengths)
        word_places = _word_characters(texts, offsets, counts, starts, word_start) if characters else None
        return Pieces(ids, word_start.astype(np.int32), starts, word_places)

    def words(self, ids: np.ndarray) -> str:
        """Join pieces to words, with one space between them."""
        return " ".join(self._pieces[ids]).replace(" ##", "")

    def is_continuation(self, ids: np.ndarray) -> np.ndarray:
        """Return which pieces continue the word of the piece before, bool as ``ids``."""
        return self._is_continuation[ids]

    def _encode(self, texts: list[str], offsets: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number of pieces of each text, int64 ``[texts]``, the pieces, int32 ``[pieces]``, and if
        ``offsets`` the characters of each in the lower-case text, int32 ``[pieces, 2]``.
        """
        # Passing texts as the "words" of long sequences saves making one Python object per text.
        blocks = [texts[at : at + _TEXTS_PER_CALL] for at in range(0, len(texts), _TEXTS_PER_CALL)]
        counts, ids = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        places = [np.zeros((0, 2), dtype=np.int32)]
        encodings = self._tokenizer.encode_batch(blocks, is_pretokenized=True, add_special_tokens=False)
        for block, encoding in zip(blocks, encodings, strict=True):
            text_numbers = np.array(encoding.word_ids, dtype=np.int64)
            counts.append(np.bincount(text_numbers, minlength=len(block)))
            ids.append(np.array(encoding.ids, dtype=np.int32))
            if offsets:
                places.append(np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2))
        return np.concatenate(counts), np.concatenate(ids), np.concatenate(places)

    def _needed(self, *names: str) -> int:
        for name in names:
            if name in self.vocabulary:
                return self.vocabulary[name]
        missing = " or ".join(names)
        raise UserError(f"the vocabulary in {self.folder} has no {missing}; use an uncased BERT vocabulary")


def _read_vocabulary(folder: Path) -> dict[str, int]:
    lines, whole = folder / "vocab.txt", folder / "tokenizer.json"
    try:
        if lines.is_file():
            pieces = lines.read_text(encoding="utf-8").split("\n")
            return {piece.rstrip("\r"): number for number, piece in enumerate(pieces) if piece}
        if whole.is_file():
            return dict(json.loads(whole.read_text(encoding="utf-8"))["model"]["vocab"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read the vocabulary in {folder}: {error}") from error
    raise UserError(f"{folder} has neither vocab.txt nor tokenizer.json; give a BERT-style backbone's folder")


def _word_characters(
    texts: Sequence[str], offsets: np.ndarray, counts: np.ndarray, starts: np.ndarray, word_start: np.ndarray
) -> np.ndarray:
    """Return the characters of each piece's word in the original text, int32 ``[pieces, 2]`` (docs/notes.md, note 37).

    They include the case, accents and combining marks that pieces lose. The piece [EMPTY] is the whole text.

    Args:
        offsets: int ``[pieces, 2]``, start and end of each piece in the lower-case text, without [EMPTY].
        counts: int64 ``[texts]``, pieces of each text, 0 for [EMPTY]; starts, word_start: as in ``Pieces``.
    """
    lengths = np.diff(starts)
    characters = np.zeros((starts[-1], 2), dtype=np.int32)
    characters[np.repeat(counts > 0, lengths)] = offsets
    first = np.repeat(starts[:-1], lengths) + word_start
    is_last = np.append(first[1:] != first[:-1], True)
    for number, text in enumerate(texts):
        places = slice(starts[number], starts[number + 1])
        if not counts[number]:
            characters[places] = 0, len(text)
        elif not text.isascii():
            characters[places] = _in_original(text, characters[places])
            characters[places, 1] += _marks_after(text, characters[places, 1]) * is_last[places]
    last = np.flatnonzero(is_last)
    ends = np.repeat(characters[last, 1], np.diff(last, prepend=-1))
    return np.stack([characters[first, 0], ends], axis=1)


def _in_original(text: str, places: np.ndarray) -> np.ndarray:
    """Map characters of the lower-case text, ``[pieces, 2]``, to the text: a few letters become two when lowered."""
    if len(text.lower()) == len(text):
        return places
    source = np.repeat(np.arange(len(text)), [len(character.lower()) for character in text])
    return np.stack([source[places[:, 0]], source[places[:, 1] - 1] + 1], axis=1)


def _marks_after(text: str, ends: np.ndarray) -> np.ndarray:
    """Count the combining marks at each of ``ends``, int32 ``[pieces]``."""
    counts = np.zeros(len(ends), dtype=np.int32)
    for number, end in enumerate(ends.tolist()):
        while end < len(text) and unicodedata.category(text[end]) == "Mn":
            end, counts[number] = end + 1, counts[number] + 1
    return counts
