"""The trials of a run as an Optuna study in SQLite, which `optuna.load_study` and optuna-dashboard read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import openvino as ov

from ovplace.atomic import atomic_write
from ovplace.core.measurement import Trial
from ovplace.core.result.labels import label
from ovplace.core.result.run_result import RunResult
from ovplace.errors import OvplaceError
from ovplace.ir.affinity import op_names
from ovplace.ir.opening import open_model
from ovplace.plugins import protocols
from ovplace.store.run_folder import RunFolder

SUMMARY = "Optuna study of the run's trials, in SQLite (extra 'optuna')"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.Exporter):
    """Writes one study, named after the run folder.

    Operations that no trial told apart are one parameter, named after the first of them, whose values are devices. The
    value of a trial is its latency over the reference's, measured in turns; lower is better. Optuna counts trials; the
    attribute `trial` is a trial's number in the run, of which some may be missing.
    """

    target: ClassVar[str] = "study.db"

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the study to the file `target`.

        Args:
            folder: a finished run.
            target: the SQLite file to write; one that is there is replaced.

        Raises:
            OvplaceError: Optuna is not installed.
            PlacementError: there is no finished run.
            StoreError: its files cannot be read.
        """
        optuna = _import_optuna()
        run = RunFolder(folder)
        run.check_finished()
        with closing(run.open_store()) as store:
            trials = store.trials()
        names = op_names(open_model(ov.Core(), run.placed_model))
        atomic_write(target, _study(optuna, folder.resolve().name, run.read_result(), trials, names))
        return [target]

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to open the study."""
        return f"open it with: optuna-dashboard {shlex.quote(f'sqlite:///{written[0]}')}"


def _study(optuna: Any, name: str, result: RunResult, trials: Sequence[Trial], names: Sequence[str]) -> bytes:
    """Return the SQLite file of a study, which is made in memory: a URL of Optuna's takes not every path."""
    storage = optuna.storages.RDBStorage("sqlite:///:memory:")
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(storage=storage, study_name=name, direction="minimize")
        study.set_user_attr("model", Path(result.model.path).name)
        study.set_user_attr("devices", [label(result, name) for name in result.device_names])
        choices = _distinct_choices(trials, names, partial(label, result))
        study.add_trials([_converted(optuna, trial, choices, row) for row, trial in enumerate(trials)])
        with closing(storage.engine.raw_connection()) as connection:
            return bytes(connection.driver_connection.serialize())
    finally:
        optuna.logging.set_verbosity(verbosity)
        storage.engine.dispose()


def _distinct_choices(
    trials: Sequence[Trial], names: Sequence[str], shown: Callable[[str], str]
) -> dict[str, list[str]]:
    """Return the device of each trial for the first of each set of operations that always went together.

    Operations that were on one device in all trials are left out.

    Args:
        trials: the trials `[T]`.
        names: of the operations `[N]`.
        shown: returns the name of a device as it is shown; the run may have ended without some.
    """
    if not trials:
        return {}
    devices = sorted({device for trial in trials for device in trial.placement.devices})
    labels = list(map(shown, devices))
    rows = np.stack([trial.placement.indices(devices) for trial in trials])
    columns, first = np.unique(rows, axis=1, return_index=True)
    return {
        names[op]: [labels[d] for d in column.tolist()]
        for op, column in sorted(zip(first.tolist(), columns.T, strict=True), key=lambda pair: pair[0])
        if len(set(column.tolist())) > 1
    }


def _converted(optuna: Any, trial: Trial, choices: Mapping[str, Sequence[str]], row: int) -> Any:
    space = {
        name: optuna.distributions.CategoricalDistribution(sorted(set(column))) for name, column in choices.items()
    }
    attributes: dict[str, object] = {
        "trial": trial.number,
        "origin": trial.origin,
        "submodels": list(trial.measurement.submodels),
    }
    if trial.measurement.ok:
        attributes["latency_ms"] = trial.measurement.median_ms
    else:
        attributes["error"] = f"{trial.measurement.error}: {trial.measurement.error_text}"
    works = isfinite(trial.ratio)
    return optuna.trial.create_trial(
        state=optuna.trial.TrialState.COMPLETE if works else optuna.trial.TrialState.FAIL,
        value=trial.ratio if works else None,
        params={name: column[row] for name, column in choices.items()},
        distributions=space,
        user_attrs=attributes,
    )


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise OvplaceError("Optuna is not installed; pip install 'ovplace[optuna]'") from error
    return optuna
