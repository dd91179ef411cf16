"""Local search: systematic moves of regions of the model while they help, then simulated annealing.

Operations of one type often behave alike on a device. The search therefore begins by moving all groups of one kind, or
equal segments of the model, to another device, keeps the moves that help, and only then draws random moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.log import Log
from ovplace.placers._base.metropolis import accepts
from ovplace.placers._base.unseen import UnseenPlacements
from ovplace.placers.local_search.moves import RandomMoves, apply_move
from ovplace.placers.local_search.regions import groups_by_kind, segments
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "systematic moves by operation type, then simulated annealing"

MAX_DRAWS = 200
"""Draws before the first new placement in counting order is taken, which happens only in small search spaces."""


@dataclass(frozen=True)
class Config:
    """Settings of local search.

    Attributes:
        kinds: number of operation types that are moved systematically, those that write most bytes; at least 0.
        segments: number of equal segments of the group order that are moved systematically; at least 0.
        initial_temperature: temperature at the start of the annealing, in units of the log latency ratio.
        final_temperature: temperature at its end, in units of the log latency ratio; above 0, at most
            `initial_temperature`; about the noise of a measurement.
        cooling_steps: number of measurements from the initial to the final temperature, at least 1.
        patience: number of measurements without a new best placement after which the annealing returns to the best
            one, at least 1.
    """

    kinds: int = 12
    segments: int = 4
    initial_temperature: float = 0.05
    final_temperature: float = 0.01
    cooling_steps: int = 60
    patience: int = 12

    def __post_init__(self) -> None:
        """Check the ranges."""
        if min(self.kinds, self.segments) < 0 or min(self.cooling_steps, self.patience) < 1:
            raise ValueError(
                "kinds and segments must be at least 0, cooling_steps and patience at least 1, got "
                f"{self.kinds}, {self.segments}, {self.cooling_steps} and {self.patience}"
            )
        if not 0 < self.final_temperature <= self.initial_temperature < inf:
            raise ValueError(
                "temperatures must be 0 < final_temperature <= initial_temperature, got final_temperature "
                f"{self.final_temperature} and initial_temperature {self.initial_temperature}"
            )


@dataclass
class _Memory:
    """State of the search, as plain data.

    Attributes:
        current: device of each group in the placement that the next move starts from, `[G]`.
        best: device of each group in the best placement so far, `[G]`.
        probes: (region, device) moves left in this sweep.
        current_ratio: latency ratio of the current placement.
        best_ratio: latency ratio of the best placement.
        swept: (ratio, region, device) of the moves answered in this sweep.
        asked: the (region, device) move of each open placement, by its hash; empty for random moves.
        improved: whether this sweep found a new best placement.
        steps: number of annealing measurements so far.
        idle: number of annealing measurements since the last new best placement.
    """

    current: list[int]
    best: list[int]
    probes: list[list[int]]
    current_ratio: float = inf
    best_ratio: float = inf
    swept: list[list[float]] = field(default_factory=list)
    asked: dict[str, list[int]] = field(default_factory=dict)
    improved: bool = False
    steps: int = 0
    idle: int = 0


class Placer(protocols.Placer):
    """Sweeps over moves of regions while they help, then anneals.

    The first sweep moves the whole model: the single-device placements. The second one moves each kind and each segment
    of the best of these, one after the other, always from the best placement so far. Further sweeps repeat the moves in
    the order of their last answers, best first, because moves of kinds that feed each other often pay only together.
    Where several machines measure, random moves fill the time until the last answers to a sweep are there.

    Source: Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983; energy is the
    logarithm of the latency ratio.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Find the regions and start with the single-device placements."""
        self._problem, self._config = problem, config
        self._rng = generator(problem.seed, "placer", "local_search")
        kinds = groups_by_kind(problem)
        self._regions = [np.arange(problem.n_groups), *kinds[: config.kinds], *segments(problem, config.segments)]
        self._moves = RandomMoves(problem, kinds, self._rng)
        self._unseen, self._asked = UnseenPlacements(problem), Log("seen")
        start = problem.allowed.argmax(axis=1).tolist()
        self._memory = _Memory(start, start, probes=[[0, d] for d in range(len(problem.devices))])

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked for before; none when all placements were."""
        batch: list[Placement] = []
        is_behind = bool(self._memory.asked)
        while len(batch) < n and (found := self._next(is_behind)) is not None:
            probe, placement = found
            self._asked.add(placement.hash)
            self._memory.asked[placement.hash] = probe
            batch.append(placement)
        return batch

    @property
    def asynchronous(self) -> bool:
        """True: each answer is learnt from alone."""
        return True

    def tell(self, trials: Sequence[Trial]) -> None:
        """Move to each measured placement that is better, or that the annealing accepts."""
        for trial in trials:
            probe = self._memory.asked.pop(trial.placement.hash)
            if probe:
                self._memory.swept.append([trial.ratio, *probe])
            else:
                self._memory.steps += 1
                self._memory.idle += 1
            self._update(self._problem.lower(trial.placement).tolist(), trial.ratio, annealing=not probe)

    def state(self) -> State:
        """Return the memory, the placements asked for, and the state of the random generator."""
        return {"rng": self._rng.bit_generator.state, "memory": asdict(self._memory), **self._asked.state()}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._rng.bit_generator.state = state["rng"]
        self._memory = _Memory(**_copied(state["memory"]))
        seen = Log.rows("seen", state)
        self._unseen = UnseenPlacements(self._problem, seen)
        self._asked.extend(seen)

    def _next(self, is_behind: bool) -> tuple[list[int], Placement] | None:
        """Return a move of the sweep, or a random one; what follows a sweep waits for the sweep's last answers.

        Args:
            is_behind: whether answers to earlier asks are open, so that a random move is better than waiting.
        """
        while True:
            while self._memory.probes:
                region, device = probe = self._memory.probes.pop(0)
                choice = apply_move(self._current, (self._regions[region], device), self._problem.allowed)
                if (placement := self._unseen.take_of([choice])) is not None:
                    return probe, placement
            is_open = any(self._memory.asked.values())  # some of the sweep
            if is_open and not is_behind:
                return None
            if is_open or not self._plan_sweep():
                break
        neighbour = self._unseen.take(self._neighbours())
        return ([], neighbour) if neighbour is not None else None

    def _plan_sweep(self) -> bool:
        """Queue the moves of the next sweep; return False when the last sweep found nothing better."""
        memory, devices = self._memory, range(len(self._problem.devices))
        answers, improved = sorted(memory.swept), memory.improved
        memory.swept, memory.improved = [], False
        if any(region for _, region, _ in answers):
            memory.probes = [[int(region), int(device)] for _, region, device in answers if improved]
        elif answers:
            memory.probes = [[region, d] for region in range(1, len(self._regions)) for d in devices]
        return bool(memory.probes)

    def _neighbours(self) -> Iterator[IntArray]:
        """Yield `MAX_DRAWS` choices `[G]`, from one random move away from the current placement to 20."""
        for attempt in range(MAX_DRAWS):
            choice = self._current
            for _ in range(1 + attempt // 10):
                choice = apply_move(choice, self._moves.draw(choice), self._problem.allowed)
            yield choice

    def _update(self, choice: list[int], ratio: float, annealing: bool) -> None:
        memory = self._memory
        if self._accepts(ratio, annealing):
            memory.current, memory.current_ratio = choice, ratio
        if ratio < memory.best_ratio:
            memory.best, memory.best_ratio = choice, ratio
            memory.improved, memory.idle = memory.improved or not annealing, 0
        elif memory.idle >= self._config.patience:
            memory.current, memory.current_ratio, memory.idle = memory.best, memory.best_ratio, 0

    def _accepts(self, ratio: float, annealing: bool) -> bool:
        """Return whether to move to a measured placement: if it is not slower, or if the annealing accepts it."""
        if not annealing or not isfinite(ratio):
            return ratio <= self._memory.current_ratio
        config, done = self._config, min(1.0, self._memory.steps / self._config.cooling_steps)
        temperature = config.initial_temperature * (config.final_temperature / config.initial_temperature) ** done
        return accepts(ratio, self._memory.current_ratio, temperature, self._rng)

    @property
    def _current(self) -> IntArray:
        return np.array(self._memory.current, dtype=np.int64)


def _copied(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value.copy() if isinstance(value, list | dict) else value for key, value in data.items()}
