"""Local search: first what systematic flips can find, then simulated annealing from there.

Operations of one type tend to behave alike on a device, so the search begins with flips of all groups of one kind
and of equal stretches of the model, keeps those that help, and only then turns to random moves. Every measurement
is dear: nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, inf, log
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "systematic flips by operation kind, then simulated annealing"

TRIES = 200
"""Draws of a new placement before the space counts as exhausted."""

Move = tuple[IntArray, int]
"""Groups, and the device they go to."""


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        kinds: operation kinds that are flipped systematically, those that handle most bytes.
        stretches: equal runs of the group order that are flipped systematically.
        hot: temperature of the annealing at its start, in log ratio.
        cold: temperature at its end, in log ratio; about the noise of a measurement.
        cooling: steps from `hot` to `cold`.
        patience: steps without a new best before the annealing goes back to the best.
    """

    kinds: int = 12
    stretches: int = 4
    hot: float = 0.05
    cold: float = 0.01
    cooling: int = 60
    patience: int = 12

    def __post_init__(self) -> None:
        """Check the ranges."""
        if min(self.kinds, self.stretches) < 0 or min(self.cooling, self.patience) < 1:
            raise ValueError("kinds and stretches must be at least 0, cooling and patience at least 1")
        if not 0 < self.cold <= self.hot:
            raise ValueError(f"temperatures must be 0 < cold <= hot, got cold {self.cold} and hot {self.hot}")


@dataclass
class _Memory:
    """All that changes during a search, as plain data.

    Attributes:
        ratios: ratio of each placement by hash; infinite for a failure and while it is measured.
        current: device of each group from where the next move starts, `[G]`.
        best: device of each group in the best placement so far, `[G]`.
        probes: (region, device) flips that wait in this sweep.
        swept: (ratio, region, device) of the flips answered in this sweep.
        asked: flips behind the last `ask`, empty pairs for random moves.
        improved: whether this sweep found a new best.
        steps: annealing answers so far.
        idle: annealing answers since the last new best.
    """

    current: list[int]
    best: list[int]
    probes: list[list[int]]
    current_ratio: float = inf
    best_ratio: float = inf
    ratios: dict[str, float] = field(default_factory=dict)
    swept: list[list[float]] = field(default_factory=list)
    asked: list[list[int]] = field(default_factory=list)
    improved: bool = False
    steps: int = 0
    idle: int = 0


class Placer(protocols.Placer):
    """Sweeps over flips of regions while they help, then anneals.

    The first sweep flips the whole model: the uniform placements. The second flips each kind and each stretch of the
    best uniform placement, one after the other, from the best so far; each further sweep repeats them, the best answers
    first: flips of kinds that feed each other often pay only together.

    Source: Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983; energy is the
    logarithm of the latency ratio.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Find the regions and start with the uniform placements."""
        self._problem, self._config = problem, config
        self._rng = generator(problem.seed, "placer", "local_search")
        self._kinds = _kinds(problem)
        self._regions = [np.arange(problem.n_groups), *self._kinds[: config.kinds], *self._stretches()]
        start = problem.allowed.argmax(axis=1).tolist()
        self._memory = _Memory(start, start, probes=[[0, d] for d in range(len(problem.devices))])
        self._moves: tuple[Callable[[IntArray], Move], ...] = (
            self._flip_group,
            self._flip_stretch,
            self._flip_kind,
            self._flip_submodel,
            self._shift_in_order,
            self._shift_along_edge,
        )

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked before; none when no more are found."""
        if n > 0:
            self._memory.asked = []
        batch: list[Placement] = []
        while len(batch) < n and (found := self._next(started=bool(batch))) is not None:
            probe, placement = found
            self._memory.ratios[placement.hash] = inf
            self._memory.asked.append(probe)
            batch.append(placement)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Move to what was measured where that is better, or where the temperature allows."""
        for probe, trial in zip(self._memory.asked, trials, strict=False):
            self._memory.ratios[trial.placement.hash] = trial.ratio
            if probe:
                self._memory.swept.append([trial.ratio, *probe])
            else:
                self._memory.steps += 1
                self._memory.idle += 1
            self._learn(self._problem.lower(trial.placement).tolist(), trial.ratio, annealing=not probe)

    def state(self) -> State:
        """Return the memory and the random stream."""
        return {"rng": self._rng.bit_generator.state, "memory": asdict(self._memory)}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        data: Any = state
        self._rng.bit_generator.state = data["rng"]
        self._memory = _Memory(**_copied(data["memory"]))

    # What to ask next

    def _next(self, started: bool) -> tuple[list[int], Placement] | None:
        """Return a flip of the sweep, or a random move; the sweep's last answers are awaited before what follows."""
        while True:
            while self._memory.probes:
                probe = self._memory.probes.pop(0)
                placement = self._lift(self._moved(self._current, (self._regions[probe[0]], probe[1])))
                if placement.hash not in self._memory.ratios:
                    return probe, placement
            if started and self._memory.asked[0]:
                return None
            if not self._plan_sweep():
                break
        fresh = self._fresh()
        return ([], fresh) if fresh is not None else None

    def _plan_sweep(self) -> bool:
        """Queue the flips of the next sweep; none are left when the last sweep found nothing better."""
        memory, devices = self._memory, range(len(self._problem.devices))
        answers, improved = sorted(memory.swept), memory.improved
        memory.swept, memory.improved = [], False
        if any(region for _, region, _ in answers):
            memory.probes = [[int(region), int(device)] for _, region, device in answers if improved]
        elif answers:
            memory.probes = [[region, d] for region in range(1, len(self._regions)) for d in devices]
        return bool(memory.probes)

    def _fresh(self) -> Placement | None:
        """Return an unseen neighbour of the current placement; the longer that takes, the more moves away."""
        for attempt in range(TRIES):
            choice = self._current
            for _ in range(1 + attempt // 10):
                choice = self._moved(choice, self._moves[self._rng.integers(len(self._moves))](choice))
            placement = self._lift(choice)
            if placement.hash not in self._memory.ratios:
                return placement
        return None

    # What to make of an answer

    def _learn(self, choice: list[int], ratio: float, annealing: bool) -> None:
        memory = self._memory
        if ratio <= memory.current_ratio or (annealing and self._accepts(ratio)):
            memory.current, memory.current_ratio = choice, ratio
        if ratio < memory.best_ratio:
            memory.best, memory.best_ratio = choice, ratio
            memory.improved, memory.idle = True, 0
        elif memory.idle >= self._config.patience:
            memory.current, memory.current_ratio, memory.idle = memory.best, memory.best_ratio, 0

    def _accepts(self, ratio: float) -> bool:
        """Draw whether to move to a placement worse than the current one (Metropolis)."""
        if ratio == inf:
            return False
        done = min(1.0, self._memory.steps / self._config.cooling)
        temperature = self._config.hot * (self._config.cold / self._config.hot) ** done
        return self._rng.random() < exp(-log(ratio / self._memory.current_ratio) / temperature)

    # Moves: each returns groups and the device they go to

    def _flip_group(self, choice: IntArray) -> Move:
        return self._rng.integers(len(choice), size=1), self._device()

    def _flip_stretch(self, choice: IntArray) -> Move:
        length = self._length(len(choice))
        start = int(self._rng.integers(len(choice) - length + 1))
        return self._problem.group_order[start : start + length], self._device()

    def _flip_kind(self, choice: IntArray) -> Move:
        """All groups of one kind, half of the time only those in one stretch of the model."""
        kind = self._kinds[self._rng.integers(len(self._kinds))]
        if self._rng.random() < 0.5:
            kind = np.intersect1d(kind, self._flip_stretch(choice)[0])
        return kind, self._device()

    def _flip_submodel(self, choice: IntArray) -> Move:
        """A connected region of one device, whole."""
        edges = self._problem.quotient.edges
        labels = connected_labels(len(choice), edges[:, choice[edges[0]] == choice[edges[1]]])
        return np.flatnonzero(labels == labels[self._rng.integers(len(choice))]), self._device()

    def _shift_in_order(self, choice: IntArray) -> Move:
        """Move a border between two runs of the group order: one run takes up to all of the other."""
        order = self._problem.group_order
        along = choice[order]
        borders = np.flatnonzero(along[1:] != along[:-1]) + 1
        if not len(borders):
            return self._flip_stretch(choice)
        which = int(self._rng.integers(len(borders)))
        bounds = [0, *borders.tolist(), len(order)]
        low, at, high = bounds[which : which + 3]
        if self._rng.random() < 0.5:
            return order[at : at + self._length(high - at)], int(along[at - 1])
        return order[at - self._length(at - low) : at], int(along[at])

    def _shift_along_edge(self, choice: IntArray) -> Move:
        """Move a group at the border of its region to the device of its neighbour."""
        edges = self._problem.quotient.edges
        crossing = edges[:, choice[edges[0]] != choice[edges[1]]]
        if not crossing.shape[1]:
            return self._flip_group(choice)
        pair = self._rng.permutation(crossing[:, self._rng.integers(crossing.shape[1])])
        return pair[:1], int(choice[pair[1]])

    def _device(self) -> int:
        return int(self._rng.integers(len(self._problem.devices)))

    def _length(self, longest: int) -> int:
        """Draw a length from 1 to `longest`, each order of magnitude equally likely."""
        return round(exp(self._rng.uniform(0.0, log(longest))))

    # Groups and placements

    @property
    def _current(self) -> IntArray:
        return np.array(self._memory.current, dtype=np.int64)

    def _moved(self, choice: IntArray, move: Move) -> IntArray:
        """Return `choice` after a move; groups that cannot run on its device stay."""
        groups, device = move
        moved = choice.copy()
        moved[groups[self._problem.allowed[groups, device]]] = device
        return moved

    def _lift(self, choice: IntArray) -> Placement:
        return self._problem.lift(choice)

    def _stretches(self) -> list[IntArray]:
        parts = min(self._config.stretches, self._problem.n_groups)
        return np.array_split(self._problem.group_order, parts) if parts > 1 else []


def _copied(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value.copy() if isinstance(value, list | dict) else value for key, value in data.items()}


def _kinds(problem: Problem) -> list[IntArray]:
    """Return the groups of each kind, the kind whose operations handle most bytes first.

    A group's kind is the type of the operation that writes most bytes, among those that run at inference: weights and
    what is computed from them alone would make a kind of whatever has the largest weights.
    """
    graph = problem.graph
    written = np.zeros(len(graph), dtype=np.int64)
    np.maximum.at(written, graph.edges[0], graph.out_bytes)
    weight = np.where(_runs(graph), written, -1)
    tables: dict[str, list[int]] = {}
    for group, members in enumerate(problem.partition.members):
        by_rank = members[np.argsort(graph.rank[members])]
        main = by_rank[weight[by_rank].argmax()]
        tables.setdefault(graph.types[main], []).append(group)
    total = np.bincount(problem.partition.group_of, weights=np.maximum(weight, 0), minlength=problem.n_groups)
    kinds = [np.array(groups, dtype=np.int64) for groups in tables.values()]
    return sorted(kinds, key=lambda groups: -float(total[groups].sum()))


def _runs(graph: OpGraph) -> BoolArray:
    """Return which operations do work at inference: not Parameters, Results, nor what follows from constants, `[N]`."""
    idle = np.isin(np.array(graph.types), ("Constant", "Parameter", "Result"))
    constant = np.array([kind == "Constant" for kind in graph.types], dtype=bool)
    for op in graph.order.tolist():
        sources = graph.predecessors[op]
        constant[op] |= bool(sources) and all(constant[source] for source in sources)
    working: BoolArray = ~(idle | constant)
    return working
