"""All that a report reads: the result of a run, its trials, its measurements and its cost table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.result.labels import label
from ovplace.core.result.run_result import RunResult
from ovplace.graphs.op_graph import IntArray
from ovplace.graphs.submodels import running_submodels, submodel_devices
from ovplace.profiling.obtain import stored_costs
from ovplace.search.completed_run import CompletedRun, open_completed_run
from ovplace.store.run_db import NamedMeasurement


@dataclass(frozen=True, eq=False)
class Placed:
    """A placement of a run's model.

    Attributes:
        hash: of the placement.
        device_of: device of each operation, an index into the run's devices, `[N]`.
        submodels: operations of each submodel, in running order.
        devices: device of each submodel.
        choice: device of each group, `[G]`; None where the placement divides a group.
    """

    hash: str
    device_of: IntArray
    submodels: Sequence[IntArray]
    devices: Sequence[int]
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
        return cls(placement.hash, device_of, submodels, devices, run.device_of_groups(placement))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A finished run with all that it has measured.

    Attributes:
        run: the run.
        trials: all trials, in order.
        baselines: the measurements of the baselines before the search, by name.
        finals: the measurements of the final comparison, one a round, by name.
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
    with closing(run.open_store()) as store:
        named = store.measurements()
        return Evidence(run, tuple(store.trials()), _baselines(run.result, named), _finals(named), stored_costs(store))


def _baselines(result: RunResult, named: Iterable[NamedMeasurement]) -> dict[str, Measurement]:
    """Return the measurements of the baselines before the search; those of later moments have a second word."""
    names = {baseline.name for baseline in result.baselines}
    return {found.name: found.measurement for found in named if found.name in names and " " not in found.key}


def _finals(named: Iterable[NamedMeasurement]) -> dict[str, tuple[Measurement, ...]]:
    """Return the last final comparison's measurements by name; a continued run has several comparisons."""
    rounds: dict[str, dict[str, list[Measurement]]] = {}
    for found in named:
        key, _, moment = found.key.partition(" ")
        if moment.startswith("round ") and found.measurement.ok:
            rounds.setdefault(found.name, {}).setdefault(key, []).append(found.measurement)
    return {name: tuple(list(by_key.values())[-1]) for name, by_key in rounds.items()}
