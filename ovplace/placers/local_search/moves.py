"""Random moves of local search: some groups, and the device they go to."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import BoolArray, IntArray

Move = tuple[IntArray, int]
"""Groups, and the device they go to."""


def apply_move(choice: IntArray, move: Move, allowed: BoolArray) -> IntArray:
    """Return a choice after a move; groups that cannot run on its device stay.

    Args:
        choice: device of each group, `[G]`.
        move: groups, and the device they go to.
        allowed: which device can run which group, `[G, D]`.
    """
    groups, device = move
    moved = choice.copy()
    moved[groups[allowed[groups, device]]] = device
    return moved


class RandomMoves:
    """Draws moves of six sorts with equal probability."""

    def __init__(self, problem: Problem, kinds: list[IntArray], rng: np.random.Generator) -> None:
        """Prepare to draw.

        Args:
            problem: the problem to place.
            kinds: the groups of each operation type.
            rng: source of all randomness.
        """
        self._problem, self._kinds, self._rng = problem, kinds, rng
        self._sorts: tuple[Callable[[IntArray], Move], ...] = (
            self._move_group,
            self._move_segment,
            self._move_kind,
            self._move_submodel,
            self._shift_border,
            self._shift_along_edge,
        )

    def draw(self, choice: IntArray) -> Move:
        """Return a random move from a choice `[G]`."""
        return self._sorts[self._rng.integers(len(self._sorts))](choice)

    def _move_group(self, choice: IntArray) -> Move:
        return self._rng.integers(len(choice), size=1), self._device()

    def _move_segment(self, choice: IntArray) -> Move:
        length = self._length(len(choice))
        start = int(self._rng.integers(len(choice) - length + 1))
        return self._problem.group_order[start : start + length], self._device()

    def _move_kind(self, choice: IntArray) -> Move:
        """Return all groups of one kind, in half of the draws only those in one segment of the model."""
        kind = self._kinds[self._rng.integers(len(self._kinds))]
        if self._rng.random() < 0.5:
            kind = np.intersect1d(kind, self._move_segment(choice)[0])
        return kind, self._device()

    def _move_submodel(self, choice: IntArray) -> Move:
        """Return all groups of one connected region of one device."""
        edges = self._problem.quotient.edges
        labels = connected_labels(len(choice), edges[:, choice[edges[0]] == choice[edges[1]]])
        return np.flatnonzero(labels == labels[self._rng.integers(len(choice))]), self._device()

    def _shift_border(self, choice: IntArray) -> Move:
        """Shift a border between two runs of one device in the group order; one run takes up to all of the other."""
        order = self._problem.group_order
        along = choice[order]
        borders = np.flatnonzero(along[1:] != along[:-1]) + 1
        if not len(borders):
            return self._move_segment(choice)
        which = int(self._rng.integers(len(borders)))
        bounds = [0, *borders.tolist(), len(order)]
        low, at, high = bounds[which : which + 3]
        if self._rng.random() < 0.5:
            return order[at : at + self._length(high - at)], int(along[at - 1])
        return order[at - self._length(at - low) : at], int(along[at])

    def _shift_along_edge(self, choice: IntArray) -> Move:
        """Return a group at the border of its region, and the device of its neighbour."""
        edges = self._problem.quotient.edges
        crossing = edges[:, choice[edges[0]] != choice[edges[1]]]
        if not crossing.shape[1]:
            return self._move_group(choice)
        pair = self._rng.permutation(crossing[:, self._rng.integers(crossing.shape[1])])
        return pair[:1], int(choice[pair[1]])

    def _device(self) -> int:
        return int(self._rng.integers(len(self._problem.devices)))

    def _length(self, longest: int) -> int:
        """Draw a length from 1 to `longest`, log-uniform."""
        return round(exp(self._rng.uniform(0.0, log(longest))))
