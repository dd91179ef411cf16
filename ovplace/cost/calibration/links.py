"""The costs of passing tensors between devices and of starting submodels, from measured splits of small models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray

_Pick = Callable[[FloatArray], float]  # one figure of a measurement's blocks


@dataclass(frozen=True, eq=False)
class SinglePiece:
    """A small piece of a model on one device, timed by itself.

    Attributes:
        device: index of the device.
        n_ops: number of operations.
        ms: latency in each block, `[B]`.
    """

    device: int
    n_ops: int
    ms: FloatArray


@dataclass(frozen=True, eq=False)
class SplitPiece:
    """A small piece of a model on several devices, and its stretches of one device each, timed by themselves.

    Attributes:
        ms: latency of the whole in each block, `[B]`.
        stretches: the stretches.
        submodels: number of submodels that ran on each device, `[D]`.
        tensors: number of tensors that passed from each device (row) to each other one, `[D, D]`.
        tensor_bytes: size of each tensor in bytes.
    """

    ms: FloatArray
    stretches: tuple[SinglePiece, ...]
    submodels: IntArray
    tensors: IntArray
    tensor_bytes: int


@dataclass(frozen=True, eq=False)
class Links:
    """The terms of the cost model that do not depend on the placed model.

    Attributes:
        latency_ms: fixed cost of passing a tensor, `[D, D]`.
        ms_per_byte: cost of each byte of it, `[D, D]`.
        submodel_ms: overhead of each submodel, `[D]`.
        alone_ms: overhead of timing a part by itself, `[D]`.
    """

    latency_ms: FloatArray
    ms_per_byte: FloatArray
    submodel_ms: FloatArray
    alone_ms: FloatArray


def fit_links(n_devices: int, alone: Sequence[SinglePiece], splits: Sequence[SplitPiece]) -> Links:
    """Return the non-negative least squares fit of the median of blocks, relative errors weighted equally.

    A split takes what its stretches take alone, less what timing each alone adds, plus an overhead a submodel, plus a
    latency and a time per byte for each tensor that passes.

    Args:
        n_devices: number of devices D.
        alone: tiny pieces with different numbers of operations; where their times meet zero operations is `alone_ms`.
        splits: pieces on several devices; a pair of devices without any gets no cost.
    """
    return _fit(n_devices, alone, splits, lambda blocks: float(np.median(blocks)))


def link_intervals(n_devices: int, alone: Sequence[SinglePiece], splits: Sequence[SplitPiece]) -> tuple[Links, Links]:
    """Return the lowest and the highest value of each parameter when each block is fitted by itself.

    Args:
        n_devices: number of devices D.
        alone: tiny pieces with different numbers of operations.
        splits: pieces on several devices.
    """
    blocks = max(min((len(split.ms) for split in splits), default=1), 1)
    fits = [_fit(n_devices, alone, splits, _block(b)) for b in range(blocks)]
    low, high = (
        Links(**{f.name: reduce(np.stack([getattr(fit, f.name) for fit in fits]), axis=0) for f in fields(Links)})
        for reduce in (np.min, np.max)
    )
    return low, high


def _block(number: int) -> _Pick:
    return lambda ms: float(ms[min(number, len(ms) - 1)])


def _fit(d: int, alone: Sequence[SinglePiece], splits: Sequence[SplitPiece], pick: _Pick) -> Links:
    alone_ms = np.array([_at_no_operations([a for a in alone if a.device == i], pick) for i in range(d)])
    rows, wanted = np.zeros((len(splits), d + 2 * d * d)), np.zeros(len(splits))
    for i, split in enumerate(splits):
        stretches = sum(pick(s.ms) - alone_ms[s.device] for s in split.stretches)
        passing = split.tensors.reshape(-1)
        rows[i] = np.concatenate([split.submodels, passing, passing * split.tensor_bytes]) / pick(split.ms)
        wanted[i] = max(0.0, pick(split.ms) - stretches) / pick(split.ms)
    found = _nnls(rows, wanted)
    latency, per_byte = found[d:].reshape(2, d, d)
    return Links(latency, per_byte, found[:d], alone_ms)


def _at_no_operations(alone: Sequence[SinglePiece], pick: _Pick) -> float:
    if not alone:
        return 0.0
    ms = np.array([pick(a.ms) for a in alone])
    rows = np.stack([np.ones(len(alone)), [a.n_ops for a in alone]], axis=1)
    return float(min(_nnls(rows / ms[:, None], np.ones(len(alone)))[0], ms.min()))


def _nnls(rows: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the non-negative least squares solution; columns are scaled first: bytes count in millions."""
    from scipy.optimize import nnls  # 0.2 s that most commands do not need

    scale = np.abs(rows).max(axis=0, initial=0.0)
    used = np.flatnonzero(scale > 0)
    found = np.zeros(rows.shape[1])
    if len(used):
        found[used] = nnls(rows[:, used] / scale[used], wanted)[0] / scale[used]
    return found
