"""Random assignments of devices to groups, at several granularities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ovplace.core.placement import Placement
from ovplace.core.problem import Problem


def random_assignments(problem: Problem, count: int, rng: np.random.Generator) -> Iterator[Placement]:
    """Yield placements: one in five with each group by itself, the others of two to thirty-two stretches."""
    for number in range(count):
        if number % 5 == 0:
            yield problem.lift(rng.integers(len(problem.devices), size=problem.n_groups))
        else:
            yield stretches(problem, int(2 ** rng.integers(1, 6)), rng)


def stretches(problem: Problem, count: int, rng: np.random.Generator) -> Placement:
    """Return a placement of `count` runs of the group order, each on a device of its own choice."""
    bounds = np.sort(rng.integers(problem.n_groups + 1, size=count - 1))
    stretch = np.searchsorted(bounds, np.arange(problem.n_groups), side="right")
    choice = np.empty(problem.n_groups, dtype=np.int64)
    choice[problem.group_order] = rng.integers(len(problem.devices), size=count)[stretch]
    return problem.lift(choice)
