"""A finished run, read back from its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.config import toml
from ovplace.config.schema import RunConfig
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError, StoreError
from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph
from ovplace.session.session import CONFIG, PREPARED, groups
from ovplace.store.run_db import RunStore

_FILES = ("result.json", "placement.json", "run.db", CONFIG, PREPARED)


@dataclass(frozen=True)
class Finished:
    """A run that has an answer.

    Attributes:
        folder: its folder.
        config: what it was asked for.
        graph: the prepared model's operations.
        partition: the groups that were placed.
        result: what `result.json` holds.
        answer: the placement of its answer.
    """

    folder: Path
    config: RunConfig
    graph: OpGraph
    partition: Partition
    result: dict[str, Any]
    answer: Placement

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices, `[D]`."""
        return tuple(device["name"] for device in self.result["devices"])

    @property
    def simulated(self) -> str:
        """Name of the simulated machine that it ran on; empty for a real one."""
        return str(self.result["environment"].get("simulated", ""))

    def device_of_groups(self, placement: Placement) -> IntArray | None:
        """Return the device of each group `[G]`, None if the placement tears a group apart or knows other devices."""
        if not set(placement.used) <= set(self.devices):
            return None
        position = np.array([self.devices.index(name) if name in placement.used else -1 for name in placement.devices])
        device_of = position[placement.device_of]
        try:
            return self.partition.lower(device_of)
        except ValueError:
            return None

    def open_store(self) -> RunStore:
        """Open its store; the caller closes it."""
        return RunStore(self.folder / "run.db")


def open_finished(folder: Path) -> Finished:
    """Read a run folder.

    Raises:
        PlacementError: there is no finished run.
        StoreError: its files are damaged, or of a version that groups otherwise.
    """
    from ovplace.ir.read import read_graph

    _check(folder)
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        table = json.loads((folder / "placement.json").read_text(encoding="utf-8"))
        n_groups = int(result["model"]["groups"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"cannot read the run in '{folder}': {error}; give its 'ovplace optimize' again") from error
    config = toml.build(toml.read(folder / CONFIG))
    graph = read_graph(folder / PREPARED)
    partition = groups(config, graph)
    if partition.n_groups != n_groups:
        raise StoreError(
            f"the run in '{folder}' placed {n_groups} groups, this ovplace forms {partition.n_groups}; optimize again"
        )
    return Finished(folder, config, graph, partition, result, Placement.from_names(graph, table))


def observed(run: Finished, store: RunStore) -> tuple[IntArray, FloatArray]:
    """Return the distinct placements of groups that the run has measured, `[B, G]`, and their latencies in ms, `[B]`.

    A latency is the placement's ratio to the reference, measured in turns with it, times the reference's usual latency:
    that cancels the drift of the machine over the run.
    """
    found: dict[bytes, tuple[IntArray, float, float]] = {}
    trials = [(trial.placement, trial.ratio, trial.measurement.median_ms) for trial in store.trials()]
    for placement, ratio, latency_ms in [*_singles(run), *trials]:
        choice = run.device_of_groups(placement)
        if choice is not None and isfinite(ratio) and isfinite(latency_ms):
            found.setdefault(choice.tobytes(), (choice, ratio, latency_ms))
    rows = list(found.values())
    choices = np.array([row[0] for row in rows], dtype=np.int64).reshape(-1, run.partition.n_groups)
    ratios, latencies = (np.array([row[i] for row in rows], dtype=np.float64) for i in (1, 2))
    usual_ms = float(np.median(latencies / ratios)) if rows else 0.0
    return choices, ratios * usual_ms


_Rows = list[tuple[Placement, float, float]]


def _singles(run: Finished) -> _Rows:
    """Return the single devices that work: placement, ratio, latency in ms."""
    n = len(run.graph)
    return [
        (Placement.uniform(n, baseline["name"], run.devices), baseline["ratio"], baseline["latency_ms"]["median"])
        for baseline in run.result["baselines"]
        if baseline["name"] in run.devices and baseline["ratio"] and baseline["latency_ms"]
    ]


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise PlacementError(f"there is no run folder '{folder}'; 'ovplace optimize MODEL -o {folder}' makes one")
    missing = [name for name in _FILES if not (folder / name).exists()]
    if missing:
        raise PlacementError(
            f"'{folder}' holds no finished run: there is no {missing[0]}; give the 'ovplace optimize' command again"
        )
