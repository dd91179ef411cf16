from __future__ import annotations

import numpy as np

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.penalise_failures import penalise_failures
from ovplace.cost.solvers.portfolio import candidates
from ovplace.testing.graphs import costs, layered, problem


def test_the_optimum_avoids_what_fails_and_keeps_the_rest() -> None:
    table = costs(problem(layered(30, 1)), 1)
    best = candidates(table)[0]
    alone = np.repeat(np.arange(table.n_devices)[:, None], table.n_groups, axis=1)
    values = latency_ms(table, alone)
    moved = np.flatnonzero(best != values.argmin())
    failure = np.zeros((table.n_groups, table.n_devices))
    failure[moved[0], best[moved[0]]] = 0.999
    found = candidates(penalise_failures(table, failure, float(values.min())))[0]
    assert found[moved[0]] != best[moved[0]]
    assert latency_ms(table, found[None])[0] < values.min()


def test_without_failures_nothing_changes() -> None:
    table = costs(problem(layered(30, 1)), 1)
    same = penalise_failures(table, np.zeros((table.n_groups, table.n_devices)), 1e9)
    assert np.array_equal(same.group_ms, table.group_ms)
