"""What is known of a run that is not finished: how far it is, and the best placement so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from ovplace.core.measurement import Trial
from ovplace.core.result.run_result import RunResult
from ovplace.errors import OvplaceError
from ovplace.search.continuation import finishing_limits
from ovplace.search.run import EMULATED
from ovplace.session.baselines import reference_of
from ovplace.store.lock import Holder, holder
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class BestSoFar:
    """The placement of a search with the lowest ratio; no final comparison has confirmed it.

    Attributes:
        trial: its number.
        ratio: latency over the reference's, measured in turns.
        ops_per_device: number of operations on each device.
    """

    trial: int
    ratio: float
    ops_per_device: Mapping[str, int]


@dataclass(frozen=True)
class RunState:
    """A run that is not finished.

    Attributes:
        model: the model file.
        placer: the placer.
        budget: placements to measure, at most; None where the time alone limits the search.
        trials: placements asked for so far.
        measured: how many of them were measured; the others were known already, and are no part of the budget.
        failed: how many of those that were measured have no latency.
        best: the best placement so far; None where none worked.
        holder: the process that searches; None where the run was stopped.
        reference: the single device that ratios are relative to.
        emulated: for each device whether it is emulated; empty without a best placement.
        simulated: whether all of them are simulated.
    """

    model: str
    placer: str
    budget: int | None
    trials: int
    measured: int
    failed: int
    best: BestSoFar | None
    holder: Holder | None
    reference: str = ""
    emulated: Mapping[str, bool] = field(default_factory=dict)
    simulated: bool = False


def searching_process(folder: Path) -> Holder | None:
    """Return the process that searches in a run folder; None where none does."""
    return holder(RunFolder(folder).lock)


def is_finished(folder: Path) -> bool:
    """Return whether a run folder has a result.

    Raises:
        PlacementError: there is no run in the folder.
    """
    files = RunFolder(folder)
    files.check_exists()
    if not files.has_begun and not searching_process(folder):
        raise files.no_run()
    return files.result.exists()


def read_state(folder: Path) -> RunState:
    """Return how far a run is that is not finished; nothing is written.

    Raises:
        OvplaceError: its files cannot be read.
    """
    files, process = RunFolder(folder), searching_process(folder)
    if not files.has_begun:
        return RunState(model="", placer="", budget=0, trials=0, measured=0, failed=0, best=None, holder=process)
    config = files.read_config()
    search, (trials, emulated, reference) = config.search, _stored(files)
    working = [trial for trial in trials if isfinite(trial.ratio)]
    measured = [trial for trial in trials if not trial.cached]
    best = min(working, key=lambda trial: trial.ratio, default=None)
    return RunState(
        model=search.model,
        placer=search.placer,
        budget=search.measurements,
        trials=len(trials),
        measured=len(measured),
        failed=sum(not isfinite(trial.ratio) for trial in measured),
        best=BestSoFar(best.number, best.ratio, best.placement.ops_per_device()) if best else None,
        holder=process,
        reference=reference,
        emulated={name: name in emulated for name in best.placement.devices} if best else {},
        simulated=config.plugins.backend.factory.simulated,
    )


def stored_trials(folder: Path) -> int | None:
    """Return how many trials a run has stored; None while it is searched, or where that cannot be read.

    Args:
        folder: a run.
    """
    files = RunFolder(folder)
    if _is_empty(files):
        return 0
    with suppress(OvplaceError):
        if not searching_process(folder):
            with closing(files.open_store()) as store:
                return store.count_trials()
    return None


def trials_since(folder: Path, result: RunResult, stored: int) -> int | None:
    """Return how many trials a continuation has that was stopped; None where none was, or where that cannot be read.

    Args:
        folder: a finished run.
        result: its result.
        stored: how many trials it has stored.
    """
    files, count = RunFolder(folder), max(0, stored - result.search.trials)
    with suppress(OvplaceError):
        if count or finishing_limits(files.read_config(), files, result) is None:
            return count
    return None


def _is_empty(files: RunFolder) -> bool:
    """Return whether a run has no store, or one that was emptied, which opening it would fill with tables."""
    return not files.database.exists() or not files.database.stat().st_size


def _stored(files: RunFolder) -> tuple[Sequence[Trial], Sequence[str], str]:
    """Return the trials of a run, which of its devices are emulated, and what ratios are relative to."""
    if _is_empty(files):
        return [], [], ""
    with closing(files.open_store()) as store:
        emulated = store.get(EMULATED)
        return store.trials(), emulated if isinstance(emulated, list) else [], reference_of(store)
