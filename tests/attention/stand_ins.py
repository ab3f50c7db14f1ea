"""The CUDA kernels of `varlen` and `flex`, written out, for machines without a GPU."""

from itertools import pairwise

import torch


def sequences(part):
    """Slices of queries and keys of each sequence of a call."""
    starts = zip(part.query_starts.tolist(), part.key_starts.tolist(), strict=True)
    return [(slice(q, p), slice(k, m)) for (q, k), (p, m) in pairwise(starts)]


def at_least_float(tensor):
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def forward_by_sequence(query, key, value, part):
    output = torch.zeros_like(query)
    query, key, value = (at_least_float(x) for x in (query, key, value))
    log_sum = query.new_zeros(query.shape[1], len(query))
    for asking, asked in sequences(part):
        scores = torch.einsum("qhd,khd->hqk", query[asking], key[asked]) / query.shape[-1] ** 0.5
        log_sum[:, asking] = scores.logsumexp(-1)
        output[asking] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), value[asked]).to(output.dtype)
    return output, log_sum


def backward_by_sequence(grad, query, key, value, output, log_sum, part):
    grad, query, key, value, output = (at_least_float(x) for x in (grad, query, key, value, output))
    grads = [torch.zeros_like(x) for x in (query, key, value)]
    scale = query.shape[-1] ** -0.5
    for asking, asked in sequences(part):
        scores = torch.einsum("qhd,khd->hqk", query[asking], key[asked]) * scale
        weights = (scores - log_sum[:, asking, None]).exp()
        of_weights = torch.einsum("qhd,khd->hqk", grad[asking], value[asked])
        kept = (grad[asking] * output[asking]).sum(-1).T[..., None]
        of_scores = weights * (of_weights - kept) * scale
        grads[0][asking] = torch.einsum("hqk,khd->qhd", of_scores, key[asked])
        grads[1][asked] = torch.einsum("hqk,qhd->khd", of_scores, query[asking])
        grads[2][asked] = torch.einsum("hqk,qhd->khd", weights, grad[asking])
    return grads


def attend_by_block(query, key, value, mask, dropout=None):
    """What a FlexAttention kernel does: full blocks are not masked, blocks in no table are not looked at."""
    dtype, size, block = query.dtype, query.shape[2], mask.BLOCK_SIZE[0]
    query, key, value = (at_least_float(x) for x in (query, key, value))
    tokens = torch.arange(size)
    pairs = mask.mask_mod(0, 0, tokens[:, None], tokens[None])
    seen = torch.zeros(size, size, dtype=torch.bool)
    tables = ((mask.kv_num_blocks, mask.kv_indices, False), (mask.full_kv_num_blocks, mask.full_kv_indices, True))
    for counts, numbers, is_full in tables:
        for row, count in enumerate(counts[0, 0].tolist()):
            for column in numbers[0, 0, row, :count].tolist():
                own = slice(row * block, (row + 1) * block), slice(column * block, (column + 1) * block)
                assert not seen[own].any(), "a block is in two tables"
                seen[own] = True if is_full else pairs[own]
    scores = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    if dropout is not None:
        scores = scores.masked_fill(dropout.kept(scores.dtype) == 0, -torch.inf)
    is_empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(is_empty, 0).softmax(-1).masked_fill(is_empty, 0)
    return (weights @ value).to(dtype), scores.masked_fill(is_empty, 0).logsumexp(-1).masked_fill(
        is_empty[..., 0], -torch.inf
    )
