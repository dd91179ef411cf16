"""All that a report reads: the result of a run, its trials, its measurements and its cost table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from math import isclose
from pathlib import Path

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.result.labels import label
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval, latency_interval
from ovplace.graphs.op_graph import IntArray
from ovplace.graphs.submodels import is_unread, running_submodels, submodel_devices
from ovplace.profiling.obtain import stored_costs
from ovplace.search.comparison.rounds import MIN_ROUNDS
from ovplace.search.completed_run import CompletedRun, open_completed_run
from ovplace.store.run_db import NamedMeasurement

_SAME = 1e-9
"""Relative difference up to which a latency is the one that the result holds."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A placement of a run's model.

    Attributes:
        hash: of the placement.
        device_of: device of each operation, an index into the run's devices, `[N]`.
        submodels: operations of each submodel, in running order.
        devices: device of each submodel.
        timed: numbers of the submodels that run something, which are those that are timed.
        choice: device of each group, `[G]`; None where the placement divides a group.
    """

    hash: str
    device_of: IntArray
    submodels: Sequence[IntArray]
    devices: Sequence[int]
    timed: Sequence[int]
    choice: IntArray | None

    @classmethod
    def of(cls, run: CompletedRun, placement: Placement) -> Placed:
        """Return a placement as the report wants it.

        Args:
            run: the run.
            placement: one of its model on its devices.
        """
        device_of = placement.indices(run.devices)
        submodels = running_submodels(run.graph, device_of)
        devices = submodel_devices(run.graph, device_of, submodels)
        timed = [number for number, ops in enumerate(submodels) if not is_unread(run.graph, ops)]
        return cls(placement.hash, device_of, submodels, devices, timed, run.device_of_groups(placement))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A finished run with all that it has measured.

    Attributes:
        run: the run.
        trials: all trials, in order.
        baselines: the measurements of the baselines before the search, by name.
        finals: the measurements of the final comparison, one a round, by name; empty where nothing was compared.
        costs: the cost table; None where the placer needed none.
    """

    run: CompletedRun
    trials: tuple[Trial, ...]
    baselines: Mapping[str, Measurement]
    finals: Mapping[str, tuple[Measurement, ...]]
    costs: CostTable | None

    @property
    def result(self) -> RunResult:
        """The result of the run."""
        return self.run.result

    def label(self, name: str) -> str:
        """Return the name of a device or baseline, marked where it is emulated or simulated."""
        return label(self.result, name)

    @cached_property
    def answer(self) -> Placed:
        """The answer."""
        return Placed.of(self.run, self.run.answer)

    @property
    def found(self) -> str:
        """Name of the search's best placement in the final comparison, such as `trial 12`; empty if there is none."""
        found = self.result.found  # results of earlier versions have none
        names = {f"trial {t.number}" for t in self.trials if found is None or t.placement.hash == found.hash}
        compared = [name for name in self.finals if name in names]
        return compared[-1] if compared else ""

    @cached_property
    def other(self) -> Placed | None:
        """The best placement that is not the answer; None where the answer was found by the search, or nothing was."""
        trial = next((trial for trial in self.trials if f"trial {trial.number}" == self.found), None)
        return None if self.result.is_faster or trial is None else Placed.of(self.run, trial.placement)


def read_evidence(folder: Path) -> Evidence:
    """Read a run folder.

    Raises:
        PlacementError: there is no finished run.
        StoreError: its files are damaged, or of a version that groups otherwise.
    """
    run = open_completed_run(folder)
    with closing(run.folder.open_store()) as store:
        named = store.measurements()
        baselines, finals = _baselines(run.result, named), _finals(run.result, named)
        return Evidence(run, tuple(store.trials()), baselines, finals, stored_costs(store))


def _baselines(result: RunResult, named: Iterable[NamedMeasurement]) -> dict[str, Measurement]:
    """Return the measurements of the baselines before the search; those of later moments have a second word."""
    names = {baseline.name for baseline in result.baselines}
    return {found.name: found.measurement for found in named if found.name in names and " " not in found.key}


def _finals(result: RunResult, named: Iterable[NamedMeasurement]) -> dict[str, tuple[Measurement, ...]]:
    """Return the measurements of the final comparison that the result is of, by name; none where nothing was compared.

    A continued run has several comparisons. The last one is not that of the result where the continuation was stopped
    in it, or where the earlier answer stands.
    """
    latencies = {baseline.name: baseline.final_latency_ms for baseline in result.baselines}
    if not any(latencies.values()):
        return {}
    of_found = result.found.latency_ms if result.found else None
    rounds: dict[str, dict[str, list[Measurement]]] = {}
    for found in named:
        key, _, moment = found.key.partition(" ")
        if moment.startswith("round ") and found.measurement.ok:
            rounds.setdefault(found.name, {}).setdefault(key, []).append(found.measurement)
    return {name: _compared(by_key.values(), latencies.get(name, of_found)) for name, by_key in rounds.items()}


def _compared(comparisons: Collection[Sequence[Measurement]], latency: Interval | None) -> tuple[Measurement, ...]:
    """Return a candidate's measurements in the comparison in which it had a latency; in the last one if none tells."""
    *_, last = comparisons
    alike = [measured for measured in comparisons if latency and _has(measured, latency)]
    return tuple(alike[-1] if alike else last)


def _has(measured: Sequence[Measurement], latency: Interval) -> bool:
    if len(measured) < MIN_ROUNDS:
        return False
    return isclose(latency_interval([m.block_medians_ms for m in measured]).value, latency.value, rel_tol=_SAME)
