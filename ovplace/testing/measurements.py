"""A true cost table, what a poor profile makes of it, and measured placements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.design_matrix import design_matrix
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.seeds import generator
from ovplace.testing.graphs import layered, problem


def true_table(n: int = 24, devices: int = 2, seed: int = 0) -> CostTable:
    """Return the random costs of a random graph.

    Args:
        n: number of groups G.
        devices: number of devices D.
        seed: of graph and costs.
    """
    table = problem(layered(n, seed), devices, seed).costs
    assert table is not None
    return table


def profiled(table: CostTable, seed: int = 0) -> CostTable:
    """Return what a poor profile makes of the truth: groups too slow, each by another factor; links wrong; no savings.

    Args:
        table: the truth.
        seed: of the factors.
    """
    errors = np.exp(generator(seed, "test", "profile").normal(0, 0.4, table.group_ms.shape))
    return replace(
        table,
        group_ms=1.6 * errors * table.group_ms,
        saving_ms=np.zeros_like(table.saving_ms),
        latency_ms=3 * table.latency_ms,
        ms_per_byte=table.ms_per_byte / 3,
    )


def placements(table: CostTable, count: int, seed: int) -> IntArray:
    """Return random stretches of groups, few and many, `[B, G]`.

    Args:
        table: of G groups.
        count: number of placements B.
        seed: of the draw.
    """
    rng = generator(seed, "test", "placements")
    n, regions = table.n_groups, (2 ** rng.uniform(0, np.log2(table.n_groups), count)).astype(int)
    return np.stack([rng.integers(table.n_devices, size=k)[np.sort(rng.integers(k, size=n))] for k in regions])


def measured_ms(table: CostTable, device_of: IntArray, noise: float = 0.02, seed: int = 0) -> FloatArray:
    """Return latencies with noise, ms `[B]`.

    Args:
        table: the truth.
        device_of: device of each group under each placement, `[B, G]`.
        noise: standard deviation of the logarithm of the latency.
        seed: of the noise.
    """
    factors = np.exp(generator(seed, "test", "noise").normal(0, noise, len(device_of)))
    return latency_ms(table, device_of) * factors


def measured_rows(truth: CostTable, profile: CostTable, count: int) -> FloatArray:
    """Return random placements as rows of a fit: terms of the profile that measure 1, `[B, P]`.

    Args:
        truth: gives the latencies.
        profile: gives the terms.
        count: number of placements B.
    """
    seen = placements(truth, count, seed=1)
    return np.asarray(design_matrix(profile, seen) / measured_ms(truth, seen)[:, None])
