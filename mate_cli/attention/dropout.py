"""Dropout as a function of seed and place: of attention probabilities, and of features of the hidden states.

Every token has two words per layer and head, one as a query and one as a key, from the counter-based generator
Threefry-2x32 (Salmon et al. 2011). A short hash of a query's word and a key's word decides whether the pair is dropped;
a hash of a token's word and a feature's word, whether that feature is. So all backends drop the same, in whatever
order, on whatever device, with any number of threads and in batches packed or padded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import torch
from torch import Tensor

from mate_cli.attention.kernel import at_least_float, attend_block
from mate_cli.attention.native.drop import can_drop, drop_by_words
from mate_cli.attention.pattern import Kind, Pattern, split_groups
from mate_cli.attention.recompute import recomputed

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS = 20
# Two rounds of multiplication and shift spread every bit of the words over the upper bits that decide.
_FIRST_FACTOR, _SHIFT, _SECOND_FACTOR = 0x7FEB352D, 15, 0x846CA68B


class Dropout(NamedTuple):
    """The pairs to drop.

    Attributes:
        rate: share of the pairs to drop, below 1.
        query, key: words of the queries and keys, int32 ``[heads, tokens]`` for a packed batch, or
            ``[blocks, heads, n]`` for blocks of it.
    """

    rate: float
    query: Tensor
    key: Tensor

    @property
    def threshold(self) -> int:
        return threshold_of(self.rate)

    def of_tokens(self, tokens: slice) -> Self:
        return self._replace(query=self.query[:, tokens], key=self.key[:, tokens])

    def of_blocks(self, query_index: Tensor, key_index: Tensor, blocks: int) -> Self:
        """Gather the words of blocks, ``[blocks, heads, n]``; the indices are int64 ``[blocks * n]``."""
        query, key = (
            words.index_select(1, index).unflatten(1, (blocks, len(index) // max(blocks, 1))).transpose(0, 1)
            for words, index in ((self.query, query_index), (self.key, key_index))
        )
        return self._replace(query=query, key=key)

    def kept(self, dtype: torch.dtype) -> Tensor:
        """Return the factors of the probabilities, ``[..., queries, keys]``: 0, or 1 / (1 - rate)."""
        return is_kept(self.query.unsqueeze(-1), self.key.unsqueeze(-2), self.threshold).to(dtype) / (1 - self.rate)


def draw_dropout(rate: float, layers: int, heads: int, place: Tensor) -> list[Dropout]:
    """Draw a seed; return the pairs to drop of each layer of a packed batch.

    Args:
        place: int32 ``[tokens]``, see ``Layout.place``.
    """
    query, key = token_words(_draw_seed(place.device), layers, heads, place)
    return [Dropout(rate, query[layer], key[layer]) for layer in range(layers)]


def token_words(seed: Tensor, layers: int, heads: int, place: Tensor) -> tuple[Tensor, Tensor]:
    """Return the words of the tokens as queries and as keys, int32 ``[layers, heads, tokens]`` each.

    Args:
        seed: int32 ``[2]``.
        place: int32 ``[tokens]``.
    """
    head = torch.arange(layers * heads, dtype=torch.int32, device=seed.device)[:, None]
    query, key = threefry(seed, place.expand(len(head), -1), head.expand(-1, len(place)))
    return query.view(layers, heads, -1), key.view(layers, heads, -1)


def drop_features(states: Tensor, place: Tensor, rate: float) -> Tensor:
    """Draw a seed, set features of the tokens to 0 and divide the others by ``1 - rate``.

    PyTorch's dropout draws one number after another on the CPU, on one core; this hash uses all cores, and a compiled
    kernel where that works.

    Args:
        states: float ``[tokens, features]``; place: int32 ``[tokens]``, see ``Layout.place``.
    """
    tokens, features = states.shape
    counter = torch.cat([place, torch.arange(features, dtype=torch.int32, device=place.device)])
    is_feature = (torch.arange(tokens + features, device=place.device) >= tokens).int()
    words, _ = threefry(_draw_seed(place.device), counter, is_feature)
    if can_drop(states):
        factor = torch.tensor(1 / (1 - rate), dtype=states.dtype).item()
        return drop_by_words(states, words, threshold_of(rate), factor)
    kept = is_kept(words[:tokens, None], words[tokens:], threshold_of(rate))
    return states * kept.to(states.dtype).mul_(1 / (1 - rate))


def _draw_seed(device: torch.device) -> Tensor:
    """Draw from PyTorch's generator of the CPU, int32 ``[2]``."""
    return torch.randint(-(2**31), 2**31, (2,)).to(device, torch.int32)


def threshold_of(rate: float) -> int:
    """The hash of what is dropped, as a signed number of 32 bits, is below this."""
    return min(round(rate * 2**32), 2**32 - 1) - 2**31


def is_kept(query: Tensor, key: Tensor, threshold: int) -> Tensor:
    """Decide from the words of queries and keys, int32, which pairs are kept, bool; broadcasts."""
    mixed = (query ^ key) * _signed(_FIRST_FACTOR)
    mixed = (mixed ^ _shift_right(mixed, _SHIFT)) * _signed(_SECOND_FACTOR)
    return mixed >= threshold


def split_heads(
    qkv: Tensor, pattern: Pattern, dropout: Dropout | None
) -> Iterator[tuple[Kind, Tensor, Dropout | None]]:
    """Yield kind, ``[tokens, 3, heads, head_dim]`` and dropout of each head group; see ``split_groups``."""
    first = 0
    for kind, rows in split_groups(qkv, pattern):
        heads = slice(first, first + rows.shape[2])
        yield kind, rows, dropout and dropout._replace(query=dropout.query[heads], key=dropout.key[heads])
        first = heads.stop


def threefry(key: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Encrypt counters of two words by Threefry-2x32 with 20 rounds; all tensors are int32, ``key`` is ``[2]``."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    first, second = first + keys[0], second + keys[1]
    for number in range(_ROUNDS):
        first += second
        turn = _ROTATIONS[number % len(_ROTATIONS)]
        high, low = second << turn, second.bitwise_right_shift_(32 - turn).bitwise_and_(2**turn - 1)
        second = low.bitwise_or_(high).bitwise_xor_(first)  # in place: half of the time
        if number % 4 == 3:
            injection = number // 4 + 1
            first += keys[injection % 3]
            second += keys[(injection + 1) % 3] + injection
    return first, second


def attend_pairs(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout | None) -> Tensor:
    """Call ``attend_block``, or with dropout ``attend_dropping``; ``[blocks, heads, n, head_dim]`` each."""
    if dropout is None or not len(query):
        return attend_block(query, key, value, mask)
    return attend_dropping(query, key, value, mask, dropout)[0]


def attend_dropping(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout
) -> tuple[Tensor, Tensor]:
    """Compute attention with dropout of the probabilities and, for merging, the log of the softmax's sum.

    The backward pass computes the probabilities again instead of keeping them.

    Args:
        query, key, value: ``[blocks, heads, n, head_dim]``; mask: as of ``attend_block``.
        dropout: the words of these queries and keys, ``[blocks, heads, n]``.

    Returns:
        ``[blocks, heads, queries, head_dim]`` of the same dtype; ``[blocks, heads, queries]``, at least fp32.
    """
    results: tuple[Tensor, Tensor] = recomputed(_attend_dropping, query, key, value, mask, dropout)
    return results


def _attend_dropping(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout
) -> tuple[Tensor, Tensor]:
    precision = at_least_float(query)  # as the kernels do; a softmax in bf16 would be off by per cents
    with torch.autocast(query.device.type, enabled=False):
        scores = query.to(precision) @ key.to(precision).transpose(-1, -2) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask.to(precision)
        log_sum = scores.logsumexp(-1)
        weights = (scores - log_sum.unsqueeze(-1)).exp() * dropout.kept(precision)
        return (weights @ value.to(precision)).to(query.dtype), log_sum


def _shift_right(words: Tensor, bits: int) -> Tensor:
    """Shift as unsigned numbers; PyTorch's shift of int32 copies the sign. In torch-xla ``>>`` divides instead, and the
    function gives int64.
    """
    return torch.bitwise_right_shift(words, bits).to(words.dtype) & (2 ** (32 - bits) - 1)


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number
