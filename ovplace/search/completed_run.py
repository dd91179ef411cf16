"""A finished run, read back from its folder."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from ovplace.config.schema import RunConfig
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.result.run_result import RunResult
from ovplace.errors import StoreError
from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph
from ovplace.session.problem import form_groups
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

GROUPS = "groups"
"""Key in the run's store of the group of each operation."""


@dataclass(frozen=True)
class CompletedRun:
    """A run that has an answer.

    Attributes:
        folder: its folder.
        config: its configuration.
        graph: the prepared model's operations.
        partition: the groups that were placed.
        result: its result.
        answer: the placement of its answer.
    """

    folder: RunFolder
    config: RunConfig
    graph: OpGraph
    partition: Partition
    result: RunResult
    answer: Placement

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices, `[D]`."""
        return self.result.device_names

    @property
    def simulated(self) -> str:
        """Name of the simulated machine that it ran on; empty for a real one."""
        return self.result.environment.simulated

    def device_of_groups(self, placement: Placement) -> IntArray | None:
        """Return the device of each group `[G]`; None if the placement divides a group or uses other devices."""
        try:
            return self.partition.lower(placement.indices(self.devices))
        except ValueError:
            return None


def open_completed_run(path: Path) -> CompletedRun:
    """Read a run folder.

    Raises:
        PlacementError: there is no finished run.
        StoreError: its files are damaged, or of a version that groups otherwise.
    """
    from ovplace.ir.read import read_graph

    folder = RunFolder(path)
    folder.check_finished()
    result, table = folder.read_answer()
    config, graph = folder.read_config(), read_graph(folder.prepared_model)
    with closing(folder.open_store()) as store:
        partition = stored_groups(store, len(graph)) or form_groups(config, graph)
    if partition.n_groups != result.model.groups:
        raise StoreError(
            f"the run in '{folder}' placed {result.model.groups} groups, this ovplace forms {partition.n_groups}; "
            "optimize again"
        )
    return CompletedRun(folder, config, graph, partition, result, Placement.from_names(graph, table))


def stored_groups(store: RunStore, n: int | None = None) -> Partition | None:
    """Return the groups of a run; None for one of an earlier version, which formed them as if one device ran all.

    Args:
        store: the run's store.
        n: number of operations; None where it is not known yet.

    Raises:
        StoreError: what is stored is not one group for each operation.
    """
    stored = store.get(GROUPS)
    try:
        return None if stored is None else _partition(stored, n)
    except ValueError as error:
        raise StoreError(
            f"the groups in the run folder are damaged: {error}; start anew in another folder with -o"
        ) from error


def _partition(stored: object, n: int | None) -> Partition:
    if not isinstance(stored, list):
        raise ValueError(f"expected a list, got {stored!r:.80}")
    if n not in (None, len(stored)):
        raise ValueError(f"expected one for each of {n} operations, got {len(stored)}")
    for group in stored:
        if type(group) is not int or not 0 <= group < len(stored):
            raise ValueError(f"expected numbers from 0 to {len(stored) - 1}, got {group!r:.80}")
    return Partition(np.array(stored, dtype=np.int64))


def measured_placements(run: CompletedRun, store: RunStore) -> tuple[IntArray, FloatArray]:
    """Return the distinct placements of groups that the run has measured, with their latencies.

    A latency is the placement's ratio to the reference, measured in turns with it, times the reference's median
    latency: that cancels the drift of the machine over the run.

    Args:
        run: a finished run.
        store: its open store.

    Returns:
        The placements, `[B, G]`, and their latencies in ms, `[B]`.
    """
    found: dict[bytes, tuple[IntArray, float, float]] = {}
    trials = [(trial.placement, trial.ratio, trial.measurement.median_ms) for trial in store.trials()]
    for placement, ratio, latency_ms in [*_single_devices(run), *trials]:
        choice = run.device_of_groups(placement)
        if choice is not None and isfinite(ratio):
            found.setdefault(choice.tobytes(), (choice, ratio, latency_ms))
    rows = list(found.values())
    choices = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, run.partition.n_groups)
    ratios, latencies = (np.array([row[i] for row in rows], dtype=np.float64) for i in (1, 2))
    usual_ms = float(np.median(latencies / ratios)) if rows else 0.0
    return choices, ratios * usual_ms


def failed_placements(store: RunStore) -> dict[str, str]:
    """Return kind and text of the failure of each placement that failed in each of its trials, by its hash.

    Args:
        store: the open store of a run.
    """
    trials = list(store.trials())
    failures = {t.placement.hash: f"{m.error}: {m.error_text}" for t in trials if (m := t.measurement).error}
    worked = {trial.placement.hash for trial in trials if trial.measurement.ok}
    return {key: text for key, text in failures.items() if key not in worked}


def _single_devices(run: CompletedRun) -> list[tuple[Placement, float, float]]:
    """Return the single devices that work: placement, ratio, latency in ms."""
    n = len(run.graph)
    return [
        (Placement.uniform(n, baseline.name, run.devices), baseline.ratio, baseline.latency_ms.value)
        for baseline in run.result.baselines
        if baseline.name in run.devices and baseline.ratio and baseline.latency_ms
    ]
