"""Additive attention in memory linear in the length of the sequence.

Source: Bahdanau et al., ICLR 2015, arXiv 1409.0473, equations 5 and 6 and appendix A.1.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CHUNK = 1 << 18
"""Elements of the buffer that is reused for all chunks: 1 MiB stays in the cache."""


def attend(query: Tensor, keys: Tensor, score: Tensor, memory: Tensor) -> Tensor:
    """Return the mean of the memory weighted by softmax(score . tanh(query + key)).

    Since tanh(z) = 2 sigmoid(2 z) - 1, and softmax ignores a constant, the energy is computed as
    2 score . sigmoid(2 (query + key)), which takes a fraction of the time on CPU. Energies and weights are not stored
    for the gradient but computed again.

    Args:
        query: T queries of each of K samples, `[K, T, A]`.
        keys: keys of the G entries of the memory, `[K, G, A]`, or `[1, G, A]` if shared by all samples.
        score: weights of the sum over A, `[A]`.
        memory: the entries, `[K, G, H]` or `[1, G, H]`.

    Returns:
        `[K, T, H]`.
    """
    shared = len(keys) == 1
    rows = query.reshape(1, -1, query.shape[2]) if shared else query
    found: Tensor = _Attention.apply(2 * rows, 2 * keys, 2 * score, memory)  # type: ignore[no-untyped-call]
    return found.reshape(*query.shape[:2], memory.shape[2])


class _Attention(torch.autograd.Function):
    """Attention with a sigmoid in place of tanh, for B memories with R rows of queries each."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, score: Tensor, memory: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, score, memory)
        out = query.new_empty(*query.shape[:2], memory.shape[2])
        for b, rows, buffer in _chunks(query, keys):
            weights = _weights(query[b, rows], keys[b], score, buffer)
            torch.matmul(weights, memory[b], out=out[b, rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        query, keys, score, memory = ctx.saved_tensors
        (grad,) = grads
        d_query, d_keys, d_score, d_memory = (torch.zeros_like(t) for t in (query, keys, score, memory))
        for b, rows, buffer in _chunks(query, keys):
            weights = _weights(query[b, rows], keys[b], score, buffer)
            d_memory[b].addmm_(weights.T, grad[b, rows])
            d_weights = grad[b, rows] @ memory[b].T
            d_energy = weights * (d_weights - (weights * d_weights).sum(dim=1, keepdim=True))
            d_score += d_energy.reshape(-1) @ buffer.reshape(-1, len(score))
            torch.addcmul(buffer, buffer, buffer, value=-1, out=buffer).mul_(d_energy[:, :, None])
            d_query[b, rows] = buffer.sum(dim=1) * score
            d_keys[b] += buffer.sum(dim=0) * score
        return d_query, d_keys, d_score, d_memory


def _chunks(query: Tensor, keys: Tensor) -> Iterator[tuple[int, slice, Tensor]]:
    """Yield the index of a memory, a slice of its rows, and a buffer `[rows, G, A]` for them."""
    places, width = keys.shape[1:]
    count = query.shape[1]
    size = min(count, max(1, CHUNK // (places * width)))
    buffer = query.new_empty(size, places, width)
    for b in range(len(query)):
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            yield b, rows, buffer[: rows.stop - rows.start]


def _weights(query: Tensor, keys: Tensor, score: Tensor, buffer: Tensor) -> Tensor:
    """Return the attention weights of some rows, `[rows, G]`; leaves the sigmoids in the buffer."""
    torch.add(query[:, None], keys[None], out=buffer).sigmoid_()
    return torch.softmax((buffer.reshape(-1, len(score)) @ score).reshape(buffer.shape[:2]), dim=1)
