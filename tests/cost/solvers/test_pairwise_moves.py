from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.cost.solvers.moves import Moves
from ovplace.cost.solvers.pairwise_moves import PairwiseMoves
from ovplace.seeds import generator
from ovplace.testing.graphs import costs, layered, problem


def drawn(seed):
    """Return the costs of a model, and a placement on which it need neither run nor fit."""
    rng = generator(seed, "testing", "pairwise moves")
    n, devices = int(rng.integers(1, 30)), int(rng.integers(1, 4))
    runs = rng.random((n, devices)) < 0.9
    runs[np.arange(n), rng.integers(devices, size=n)] = True
    table = costs(problem(layered(n, seed), devices, seed, supported=runs), seed)
    table = replace(table, memory_bytes=np.where(seed % 2, np.inf, 0.6 * table.group_bytes.sum()))
    return table, rng.integers(devices, size=n)


@pytest.mark.parametrize("seed", range(40))
def test_moves_cost_what_the_placements_after_them_do(seed):
    table, start = drawn(seed)
    moves = Moves.of(table, start)
    after = moves.rows(np.arange(len(moves)))
    latency_ms, fits = pairwise_ms(table, after), table.fits(after)
    found = [PairwiseMoves(table, start, unit) for unit in moves.units]
    np.testing.assert_allclose(np.concatenate([of.latency_ms() for of in found]).T.ravel(), latency_ms, rtol=1e-9)
    np.testing.assert_array_equal(np.concatenate([of.fit() for of in found]).T.ravel(), fits)
