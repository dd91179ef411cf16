"""The latency of placements under the sequential HETERO cost model.

One request of HETERO runs its submodels one after another (openvino `src/plugins/hetero/src/sync_infer_request.cpp`),
so latency is a sum of terms. The *full* model counts an overhead for each submodel, which depends on how regions hang
together; the *pairwise* model leaves it out, and is what minimum cuts and linear programs solve exactly. The full model
is never below the pairwise one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate import terms
from ovplace.graphs.op_graph import FloatArray, IntArray


def latency_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return the latency of placements under the full model.

    Args:
        table: the costs of G groups on D devices.
        device_of: device of each group under each placement, `[B, G]`.

    Returns:
        ms, `[B]`; infinite where a group cannot run.
    """
    return _sum_ms(table, device_of, terms.TERMS)


def pairwise_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return the latency of placements under the pairwise model: without the overhead of submodels.

    Args:
        table: the costs of G groups on D devices.
        device_of: device of each group under each placement, `[B, G]`.

    Returns:
        ms, `[B]`; infinite where a group cannot run.
    """
    return _sum_ms(table, device_of, (term for term in terms.TERMS if term.pairwise))


def _sum_ms(table: CostTable, device_of: IntArray, chosen: Iterable[terms.CostTerm]) -> FloatArray:
    total = np.zeros(len(device_of))
    for term in chosen:
        total = total + term.latency_ms(table, device_of)
    return total
