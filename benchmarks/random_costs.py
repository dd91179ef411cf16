"""Random costs of near-chains of groups, about as dense as models are."""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.traffic import Traffic
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.seeds import generator


def random_table(n: int, seed: int, model_like: bool = False, n_devices: int = 2) -> CostTable:
    """Return random costs of a near-chain of `n` groups.

    Args:
        n: groups.
        seed: of the costs.
        model_like: whether one device is faster nearly everywhere, as in real models; else either, at random.
        n_devices: devices.
    """
    rng = generator(seed, "benchmark", "solvers", n)
    edges = _near_chain(n, rng)
    starts = np.flatnonzero(np.diff(edges[0], prepend=-1))
    traffic = Traffic(edges[0, starts], rng.integers(100, 10_000, len(starts)), starts, edges[1])
    work = _model_work(n, n_devices, rng) if model_like else rng.gamma(2.0, 0.5, (n, n_devices))
    fused = rng.random((edges.shape[1], n_devices)) * (rng.random((edges.shape[1], 1)) < 0.3)
    return CostTable(
        traffic=traffic,
        edges=edges,
        group_ms=work,
        saving_ms=0.25 * fused * np.minimum(work[edges[0]], work[edges[1]]),
        latency_ms=0.3 * rng.random((n_devices, n_devices)),
        ms_per_byte=3e-4 * rng.random((n_devices, n_devices)),
        submodel_ms=0.1 * rng.random(n_devices),
        group_bytes=1000.0 * rng.random(n),
        memory_bytes=np.full(n_devices, np.inf),
    )


def _near_chain(n: int, rng: np.random.Generator) -> IntArray:
    """Return edges by source, `[2, Q]`: most groups read the one before, some another, some two."""
    target = np.arange(1, n)
    back = np.where(rng.random(n - 1) < 0.85, 1, rng.integers(1, 30, n - 1))
    second = target[rng.random(n - 1) < 0.12]
    source = np.concatenate([target - back, second - rng.integers(1, 30, len(second))]).clip(0)
    pairs = np.unique(source * n + np.concatenate([target, second]))
    return np.stack([pairs // n, pairs % n])


def _model_work(n: int, n_devices: int, rng: np.random.Generator) -> FloatArray:
    """Return times of which few are large, most in one ratio, with a fixed part on each device but the first."""
    size = rng.gamma(0.5, 2.0, n)
    speed = 2.0 ** -np.arange(n_devices)
    return np.asarray(size[:, None] * speed * rng.lognormal(0, 0.3, (n, n_devices)) + 0.3 * (speed < 1))
