"""A bound on what any split can gain over the whole model on one device, for costs that are known roughly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import solve_pairwise


def gain_bound(table: CostTable, device: int, factor: float, time_limit_s: float) -> float:
    """Return the fraction of the latency on one device beyond which no split can save; 0 where none can save anything.

    The bound is proven for the costs of `in_favour_of_splits`, which are as far in favour of splits as costs can be
    that are wrong by the factor. Other single devices are no splits: what they take is measured.

    Args:
        table: the costs.
        device: where the whole model runs; it must be able to.
        factor: how wrong these costs may be, at least 1.
        time_limit_s: time limit in seconds of the mixed-integer program that solves for more than two devices, or
            where the model may exceed the memory of one.

    Raises:
        PlacementError: no placement fits into the memory of the devices.
    """
    optimistic = in_favour_of_splits(table, device, factor)
    alone_ms = float(latency_ms(table, table.uniform(device)[None])[0])
    if alone_ms <= 0:
        return 0.0
    whole_ms = float(latency_ms(optimistic, table.uniform(device)[None])[0])  # what was measured, and what is added
    pairwise_ms = solve_pairwise(optimistic, time_limit_s).certificate.lower_bound_ms
    # A split has a submodel on each of its devices, two at least.
    overhead_ms = float(np.sort(optimistic.submodel_ms)[:2].sum())
    return max(0.0, (whole_ms - pairwise_ms - overhead_ms) / alone_ms)


def in_favour_of_splits(table: CostTable, device: int, factor: float) -> CostTable:
    """Return costs that differ by a factor, in favour of every placement but that on one device.

    All other devices, their submodels and transfers cost `factor` times less, and neighbours on the device itself
    save so much less by running together; its groups cost less to make up for that, half of it each: its whole latency
    is measured. A group that would cost less than nothing costs more by the same time on all devices, which adds that
    time to each placement, and leaves the differences between them.

    Args:
        table: the costs.
        device: where the whole model runs.
        factor: at least 1.
    """
    divisor = np.where(np.arange(table.n_devices) == device, 1.0, factor)
    group_ms = table.group_ms / divisor
    saving_ms = table.saving_ms.copy()
    saving_ms[:, device] /= factor
    given_up = (table.saving_ms[:, device] - saving_ms[:, device]) / 2
    for end in table.edges:
        group_ms[:, device] -= np.bincount(end, given_up, table.n_groups)
    added_ms = -np.minimum(group_ms.min(axis=1, keepdims=True), 0.0)
    return replace(
        table,
        group_ms=group_ms + added_ms,
        saving_ms=saving_ms,
        latency_ms=table.latency_ms / factor,
        ms_per_byte=table.ms_per_byte / factor,
        submodel_ms=table.submodel_ms / divisor,
    )
