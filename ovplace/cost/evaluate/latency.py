"""The latency of placements under the sequential HETERO cost model.

One request of HETERO runs its submodels one after another (openvino `src/plugins/hetero/src/sync_infer_request.cpp`),
so latency is a sum. The *full* model counts an overhead for each submodel, which depends on how regions hang together;
the *pairwise* model leaves it out, and is what minimum cuts and linear programs solve exactly. The full model is never
below the pairwise one.
"""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.submodel_counts import submodel_counts
from ovplace.graphs.op_graph import FloatArray, IntArray


def latency_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return the latency of placements under the full model.

    Args:
        table: the costs of G groups on D devices.
        device_of: device of each group under each placement, `[B, G]`.

    Returns:
        ms, `[B]`; infinite where a group cannot run.
    """
    counts = submodel_counts(table.n_groups, table.edges, device_of, table.n_devices)
    return np.asarray(pairwise_ms(table, device_of) + counts @ table.submodel_ms)


def pairwise_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return the latency of placements `[B, G]` without the overhead of submodels, `[B]`."""
    work = table.group_ms[np.arange(table.n_groups), device_of].sum(axis=1)
    return np.asarray(work + _transfers_ms(table, device_of) - _savings_ms(table, device_of))


def _transfers_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    traffic = table.traffic
    total = np.zeros(len(device_of))
    if not len(traffic.source):
        return total
    home, readers = device_of[:, traffic.source], device_of[:, traffic.readers]
    cost, tensor = table.transfer_ms(), np.arange(len(traffic.source))
    for device in range(table.n_devices):
        wanted = np.logical_or.reduceat(readers == device, traffic.starts, axis=1)
        total += np.where(wanted, cost[tensor, home, device], 0.0).sum(axis=1)
    return total


def _savings_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    source, target = device_of[:, table.edges[0]], device_of[:, table.edges[1]]
    edge = np.arange(table.edges.shape[1])
    return np.asarray(np.where(source == target, table.saving_ms[edge, source], 0.0).sum(axis=1))
