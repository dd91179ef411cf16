"""Random assignments of devices to groups, at several granularities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ovplace.core.placement import Placement
from ovplace.core.problem import Problem


def random_assignments(problem: Problem, count: int, rng: np.random.Generator) -> Iterator[Placement]:
    """Yield random placements: one in five with independent groups, the others of two to thirty-two segments.

    Args:
        problem: the problem to place.
        count: number of placements.
        rng: source of randomness.
    """
    for number in range(count):
        if number % 5 == 0:
            yield problem.lift(rng.integers(len(problem.devices), size=problem.n_groups))
        else:
            yield segmented(problem, int(2 ** rng.integers(1, 6)), rng)


def segmented(problem: Problem, count: int, rng: np.random.Generator) -> Placement:
    """Return a placement of segments of the group order, each on a random device.

    Args:
        problem: the problem to place.
        count: number of segments, at least 1.
        rng: source of randomness.
    """
    bounds = np.sort(rng.integers(problem.n_groups + 1, size=count - 1))
    segment_of = np.searchsorted(bounds, np.arange(problem.n_groups), side="right")
    choice = np.empty(problem.n_groups, dtype=np.int64)
    choice[problem.group_order] = rng.integers(len(problem.devices), size=count)[segment_of]
    return problem.lift(choice)
