"""Searches that wait for the slowest machine, and searches that ask on.

Machines of a fleet, simulated by a clock that nothing waits for: a trial takes a log-normal time with a median of 1
and a standard deviation of the logarithm `spread`, and its latency is that of a random cost table of 24 groups on three
devices. *waits*: the search asks for as many placements as there are machines and waits for all. *asks on*: it asks as
soon as a machine is free. `time`: until the last answer, in trials of median length, mean over cost tables. `busy`: the
part of the machines' time that is spent on trials. `best`: latency of the best placement over that of the first device,
geometric mean. `hsdag` has no warm start here.
"""

from __future__ import annotations

import heapq
import itertools
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.report import Row
from ovplace.core.measurement import Measurement
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.plugins import registry
from ovplace.search.loop import Budget, Loop
from ovplace.search.requests import Answer
from ovplace.seeds import generator
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore, StoredMeasurement
from ovplace.testing.graphs import layered, problem
from ovplace.testing.sessions import direct, session

SETTINGS: Mapping[str, Mapping[str, object]] = {"hsdag": {"warm_start": 0}}


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        placers: their names.
        machines: number of machines.
        trials: placements of each search.
        spread: standard deviation of the logarithm of a trial's duration.
        tables: random cost tables for each row.
    """

    placers: tuple[str, ...] = ("optuna", "seq2seq", "fc_grouper", "hierarchical", "hsdag", "placeto")
    machines: int = 8
    trials: int = 120
    spread: float = 0.6
    tables: int = 8


SHORT = Options(placers=("optuna",), machines=3, trials=12, tables=1)


@dataclass
class Machines:
    """Requests to simulated machines.

    Attributes:
        of: the problem whose costs latencies are of.
        capacity: number of machines.
        durations: of the trials, in the order in which they are begun.
        notes: what is noticed of machines, which is nothing here.
        now: time of the last answer.
        spent: time of all machines on trials.
    """

    of: Problem
    capacity: int
    durations: Iterator[float]
    notes: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0
    spent: float = 0.0
    _waiting: deque[tuple[int, Placement]] = field(default_factory=deque)
    _running: list[tuple[float, int, Placement]] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)

    def submit(self, number: int, placement: Placement) -> None:
        """Begin a trial, or let it wait for a machine."""
        self._waiting.append((number, placement))
        self._fill()

    def next_answer(self) -> Answer:
        """Return the answer of the trial that ends next."""
        self.now, number, placement = heapq.heappop(self._running)
        self._fill()
        is_known = placement.hash in self._known
        self._known.add(placement.hash)
        ms = self._ms(placement)
        found = StoredMeasurement(Measurement((ms,), (1,)), ms / self._ms(self.of.lift(self.of.uniform(0))))
        return Answer(number, placement.hash, found, is_known)

    def cancel(self) -> None:
        """There is nothing to end."""

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self.capacity:
            number, placement = self._waiting.popleft()
            duration = next(self.durations)
            self.spent += duration
            heapq.heappush(self._running, (self.now + duration, number, placement))

    def _ms(self, placement: Placement) -> float:
        assert self.of.costs is not None
        return float(latency_ms(self.of.costs, self.of.lower(placement)[None])[0])


def rows(options: Options) -> Iterator[Row]:
    """Yield two rows for each placer."""
    for name in options.placers:
        for waits in (True, False):
            found = np.array([_searched(name, waits, options, seed) for seed in range(options.tables)])
            time, busy, best = found.T
            yield {
                "placer": name,
                "search": "waits" if waits else "asks on",
                "time": time.mean(),
                "busy": busy.mean(),
                "best": np.exp(np.log(best).mean()),
            }


def _searched(name: str, waits: bool, options: Options, seed: int) -> tuple[float, float, float]:
    """Return the time of a search, how busy its machines are, and the ratio of the best placement."""
    of, plugin = problem(layered(24, seed=seed), 3, seed), registry.load("placers", name)
    factory = type("Waiting", (plugin.factory,), {"asynchronous": False}) if waits else plugin.factory
    rng = generator(seed, "benchmark", "late answers")
    machines = Machines(of, options.machines, (float(rng.lognormal(0, options.spread)) for _ in itertools.count()))
    with tempfile.TemporaryDirectory() as folder:
        measurer = Measurer(replace(session(Path(folder), direct()), problem=of), RunStore(Path(":memory:")))
        placer = factory(of, plugin.config(SETTINGS.get(name, {})))
        trials = Loop(placer, measurer, machines, Budget(options.trials), name, silent).run()
        measurer.store.close()
    return machines.now, machines.spent / (machines.now * machines.capacity), min(trial.ratio for trial in trials)
