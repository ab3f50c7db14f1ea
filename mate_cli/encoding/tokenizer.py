"""BERT's uncased tokeniser over many short texts at once, and TAPAS's rule for empty cells (spec 1.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mate_cli.encoding.characters import word_characters
from mate_cli.system.errors import UserError
from mate_cli.tables.text import is_empty

_LONGEST_WORD = 200  # characters; longer words become [UNK]
_TEXTS_PER_CALL = 500
_PADDING = 128  # rows of word embeddings are often rounded up to a multiple of 64 or 128


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a list of texts, one after another.

    Attributes:
        ids: int32 ``[pieces]``.
        word_start: int32 ``[pieces]``, where the word of each piece starts, counted in pieces from the start
            of its text.
        starts: int64 ``[texts + 1]``, where each text starts in ``ids``; every text has at least one piece.
        characters: int32 ``[pieces, 2]``, first and end of each piece's word in its text; None where not asked for.
    """

    ids: np.ndarray
    word_start: np.ndarray
    starts: np.ndarray
    characters: np.ndarray | None = None

    def of(self, text: int) -> np.ndarray:
        """The ids of one text, int32 ``[n]``."""
        return self.ids[self.starts[text] : self.starts[text + 1]]


class CellTokenizer:
    """Texts to word pieces: lower case, accents stripped, punctuation split, nothing in a text is special.

    A text without a word character, "n/a" and "?" become the one piece [EMPTY], which is [unused0] in a BERT
    vocabulary. Words over 200 characters become [UNK].

    Args:
        folder: holds ``vocab.txt`` or ``tokenizer.json`` of an uncased BERT vocabulary.

    Raises:
        UserError: there is no such file, or it lacks a piece that encoding needs.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.vocabulary = _read_vocabulary(self.folder)
        self.cls, self.sep = self._needed("[CLS]"), self._needed("[SEP]")
        self.empty = self._needed("[EMPTY]", "[unused0]")
        self._needed("[UNK]")
        words = WordPiece(self.vocabulary, unk_token="[UNK]", max_input_chars_per_word=_LONGEST_WORD)
        self._tokenizer = Tokenizer(words)
        self._tokenizer.normalizer = BertNormalizer(lowercase=False, strip_accents=True)
        self._tokenizer.pre_tokenizer = BertPreTokenizer()
        self._pieces = np.full(max(self.vocabulary.values()) + 1, "", dtype=object)
        self._pieces[list(self.vocabulary.values())] = list(self.vocabulary)
        self._is_continuation = np.array([piece.startswith("##") for piece in self._pieces])

    @property
    def fingerprint(self) -> str:
        """A hash of the vocabulary."""
        return hashlib.sha256(json.dumps(sorted(self.vocabulary.items())).encode()).hexdigest()

    @property
    def mask(self) -> int:
        """The id of [MASK].

        Raises:
            UserError: the vocabulary has none.
        """
        return self._needed("[MASK]")

    def check_fits(self, rows: int) -> None:
        """Make sure that this is the vocabulary of word embeddings with so many rows, padded or not.

        Raises:
            UserError: it has pieces without an embedding, or many embeddings are of no piece.
        """
        if not rows - _PADDING < len(self._pieces) <= rows:
            raise UserError(
                f"the vocabulary in {self.folder} has {len(self._pieces)} pieces, and the model's word embeddings "
                f"{rows} rows; take the vocabulary that the model was trained with"
            )

    def write(self, path: Path) -> None:
        """Write ``vocab.txt`` as TAPAS has it, where the piece of empty cells is called [EMPTY].

        Raises:
            OSError: it cannot be written.
        """
        pieces = self._pieces.copy()
        pieces[self.empty] = "[EMPTY]"
        path.write_text("\n".join(pieces) + "\n", encoding="utf-8")

    def batch(self, texts: Sequence[str], characters: bool = False) -> Pieces:
        """The pieces of each text, in order; with the characters of their words where asked."""
        # Lower case here: the Rust part knows no final sigma. What gives no piece becomes [EMPTY].
        counts, found, offsets = self._encode(["" if is_empty(text) else text.lower() for text in texts], characters)
        lengths = np.maximum(counts, 1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.full(starts[-1], self.empty, dtype=np.int32)
        ids[np.repeat(counts > 0, lengths)] = found
        # A word never begins with "##", and every text begins a word: no need to ask the tokeniser for words.
        places = np.where(self._is_continuation[ids], 0, np.arange(len(ids)))
        word_start = np.maximum.accumulate(places) - np.repeat(starts[:-1], lengths)
        of_words = word_characters(texts, offsets, counts, starts, word_start) if characters else None
        return Pieces(ids, word_start.astype(np.int32), starts, of_words)

    def words(self, ids: np.ndarray) -> str:
        """The words that pieces spell, one space between them."""
        return " ".join(self._pieces[ids]).replace(" ##", "")

    def is_continuation(self, ids: np.ndarray) -> np.ndarray:
        """Whether each piece goes on with the word of the one before it, bool as ``ids``."""
        return self._is_continuation[ids]

    def _encode(self, texts: list[str], offsets: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many pieces each text has, int64 ``[texts]``, all of them, int32 ``[pieces]``, and where asked the
        characters that each is, int32 ``[pieces, 2]``.
        """
        # Passing texts as the "words" of long sequences saves making one Python object per text.
        blocks = [texts[at : at + _TEXTS_PER_CALL] for at in range(0, len(texts), _TEXTS_PER_CALL)]
        counts, ids = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        places = [np.zeros((0, 2), dtype=np.int32)]
        encodings = self._tokenizer.encode_batch(blocks, is_pretokenized=True, add_special_tokens=False)
        for block, encoding in zip(blocks, encodings, strict=True):
            owner = np.array(encoding.word_ids, dtype=np.int64)
            counts.append(np.bincount(owner, minlength=len(block)))
            ids.append(np.array(encoding.ids, dtype=np.int32))
            if offsets:
                places.append(np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2))
        return np.concatenate(counts), np.concatenate(ids), np.concatenate(places)

    def _needed(self, *names: str) -> int:
        for name in names:
            if name in self.vocabulary:
                return self.vocabulary[name]
        missing = " or ".join(names)
        raise UserError(f"the vocabulary in {self.folder} has no {missing}; take an uncased BERT one")


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
