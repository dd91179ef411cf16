"""The machine of a run by what the run measured: searches on it take no time, and its placements are known exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.script import UnavailableError
from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.calibration.equations import CLOCK_MS
from ovplace.cost.evaluate.design_matrix import parameters, stage_matrix
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers.min_cut.observation import Observation
from ovplace.placers.min_cut.refitted_model import RefittedModel
from ovplace.profiling.obtain import stored_costs
from ovplace.search.completed_run import CompletedRun, open_completed_run
from ovplace.search.requests import Answer
from ovplace.seeds import generator
from ovplace.store.run_db import StoredMeasurement

COMPILED, VISIT = 0.03, 0.06
"""Standard deviations of the logarithms of latencies: from compilation to compilation of one placement, and from visit
to visit in a search (4 % on *demo*, 6 to 8 % on *siren*)."""

_OFTEN = 3
"""Measurements of a stage from which on their spread counts."""

_NORMAL = 1.4826
"""Standard deviation of a normal distribution whose median absolute deviation is 1."""


@dataclass(frozen=True, eq=False)
class FittedMachine:
    """The machine of a run.

    Attributes:
        problem: the model in the groups of the run, with the run's profile as its costs, and without features.
        costs: the profile fitted to all that the run measured.
        reference_ms: latency of the single device beside which placements were measured.
        noise: standard deviation of the logarithm of the times measured for a stage.
        misfit: the same of what a stage takes over what the costs say; each stage has a factor of its own.
    """

    problem: Problem
    costs: CostTable
    reference_ms: float
    noise: float
    misfit: float
    _latency_ms: dict[str, float] = field(default_factory=dict, init=False, repr=False)  # by hash of the placement

    def stages_of(self, placement: Placement) -> Stages:
        """Return the stages of a placement of groups."""
        problem = self.problem
        shares = reader_shares(problem.devices)
        return Stages.of(problem.graph, problem.partition, placement.device_of, shares)

    def stages_ms(self, placement: Placement, stages: Stages) -> FloatArray:
        """Return what each stage takes, without noise, `[S]`.

        Args:
            placement: of groups.
            stages: its stages.
        """
        choice = self.problem.lower(placement)
        expected_ms = stage_matrix(self.costs, choice, stages) @ parameters(self.costs)
        factors = [self._factor(key) for key in _keys(stages, choice)]
        return np.asarray(np.maximum(expected_ms, CLOCK_MS) * np.array(factors))

    def latency_ms(self, placement: Placement) -> float:
        """Return the latency of a placement, without noise."""
        if placement.hash not in self._latency_ms:
            self._latency_ms[placement.hash] = float(self.stages_ms(placement, self.stages_of(placement)).sum())
        return self._latency_ms[placement.hash]

    def measured(self, placement: Placement, rng: np.random.Generator) -> StoredMeasurement:
        """Return a measurement of a placement, with noise, beside the reference."""
        stages = self.stages_of(placement)
        true_ms = self.stages_ms(placement, stages)
        self._latency_ms[placement.hash] = latency_ms = float(true_ms.sum())
        whole_ms = float(latency_ms * np.exp(VISIT * rng.standard_normal()))
        noisy_ms = true_ms * np.exp(self.noise * rng.standard_normal(len(true_ms)))
        of_submodel = (noisy_ms * whole_ms / noisy_ms.sum() / stages.n_submodels)[stages.stage_of_submodel]
        own = Measurement((whole_ms,), (1,), stages_ms=tuple(of_submodel.tolist()))
        return StoredMeasurement(own, whole_ms / self.reference_ms)

    def _factor(self, key: bytes) -> float:
        return float(np.exp(self.misfit * generator(0, "benchmark", "stage", key.hex()).standard_normal()))


@dataclass
class FittedRequests:
    """Requests to measure placements on a fitted machine; one that was measured before is answered as it was.

    Attributes:
        machine: the machine.
        rng: source of the noise.
        capacity: number of placements that can be measured at once.
        notes: what is noticed of machines, which is nothing here.
    """

    machine: FittedMachine
    rng: np.random.Generator
    capacity: int = 1
    notes: Mapping[str, str] = field(default_factory=dict)
    _open: dict[int, Placement] = field(default_factory=dict)
    _known: dict[str, StoredMeasurement] = field(default_factory=dict)

    def submit(self, number: int, placement: Placement) -> None:
        """Let a placement wait for its answer."""
        self._open[number] = placement

    def next_answer(self) -> Answer:
        """Return the answer of the placement that waits longest."""
        number = min(self._open)
        placement = self._open.pop(number)
        if cached := placement.hash in self._known:
            return Answer(number, placement.hash, self._known[placement.hash], cached)
        self._known[placement.hash] = found = self.machine.measured(placement, self.rng)
        return Answer(number, placement.hash, found, cached)

    def cancel(self) -> None:
        """There is nothing to end."""


def fitted_machine(folder: Path) -> FittedMachine:
    """Return the machine of a run that measured its placements in stages.

    Args:
        folder: of the run, which is finished.

    Raises:
        UnavailableError: the run had no time to measure a placement in stages.
    """
    run = open_completed_run(folder)
    with closing(run.folder.open_store()) as store:
        profile, trials = stored_costs(store), [trial for trial in store.trials() if trial.measurement.stages_ms]
    assert profile is not None
    if not trials:
        raise UnavailableError("the run had no time to measure a placement")
    problem = _problem(run, profile)
    fit = RefittedModel(problem, profile)
    fit.observe(Observation.of(problem.lower(trial.placement).tolist(), trial) for trial in trials)
    reference_ms = float(np.median([trial.reference_ms for trial in trials]))
    machine = FittedMachine(problem, fit.costs(), reference_ms, noise=0.0, misfit=0.0)
    noise, misfit = _spreads(machine, trials)
    return replace(machine, noise=noise, misfit=misfit)


def _problem(run: CompletedRun, profile: CostTable) -> Problem:
    devices = tuple(Device(name, name) for name in run.devices)
    runs = np.isfinite(profile.group_ms)[run.partition.group_of]
    no_features = np.empty((len(run.graph), 0))
    return Problem(run.graph, run.partition, devices, runs, no_features, run.config.search.seed, profile)


def _spreads(machine: FittedMachine, trials: Sequence[Trial]) -> tuple[float, float]:
    """Return how much the times of a stage differ, and how far their mean is from the fit, of those measured often.

    Both are 0 where none was.
    """
    times, expected = defaultdict[bytes, list[float]](list), dict[bytes, float]()
    for trial in trials:
        stages = machine.stages_of(trial.placement)
        relative = stages.summed(np.array(trial.measurement.stages_ms)) / trial.reference_ms
        keys = _keys(stages, machine.problem.lower(trial.placement))
        fitted_ms = machine.stages_ms(trial.placement, stages)
        for key, found, ms in zip(keys, relative, fitted_ms, strict=True):
            times[key].append(float(np.log(found * machine.reference_ms)))
            expected[key] = float(np.log(ms))
    often = {key: values for key, values in times.items() if len(values) >= _OFTEN}
    if not often:
        return 0.0, 0.0
    noise = float(np.median([np.std(values, ddof=1) for values in often.values()]))
    errors = np.array([np.mean(values) - expected[key] for key, values in often.items()])
    by_chance = np.mean([noise**2 / len(values) for values in often.values()])
    return noise, float(np.sqrt(max(0.0, (_NORMAL * np.median(np.abs(errors))) ** 2 - by_chance)))


def _keys(stages: Stages, choice: IntArray) -> Iterator[bytes]:
    """Yield what tells stages apart: their groups and devices."""
    for stage in range(len(stages.n_submodels)):
        groups = np.flatnonzero(stages.stage_of == stage)
        yield groups.tobytes() + choice[groups].tobytes()
