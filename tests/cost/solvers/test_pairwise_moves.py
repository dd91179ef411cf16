from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.cost.solvers.moves import Moves
from ovplace.cost.solvers.pairwise_moves import PairwiseMoves
from ovplace.seeds import generator
from ovplace.testing.graphs import limited_costs


@pytest.mark.parametrize("seed", range(40))
def test_moves_cost_what_the_placements_after_them_do(seed):
    table, rng = limited_costs(seed), generator(seed, "testing", "pairwise moves")
    start = rng.integers(table.n_devices, size=table.n_groups)
    moves = Moves.of(table, start)
    after = moves.rows(np.arange(len(moves)))
    latency_ms, fits = pairwise_ms(table, after), table.fits(after)
    found = [PairwiseMoves(table, start, unit) for unit in moves.units]
    np.testing.assert_allclose(np.concatenate([of.latency_ms() for of in found]).T.ravel(), latency_ms, rtol=1e-9)
    np.testing.assert_array_equal(np.concatenate([of.fit() for of in found]).T.ravel(), fits)
