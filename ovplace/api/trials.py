"""The trials of a run as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ovplace.core.measurement import Trial
from ovplace.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("origin", "latency_ms", "ratio", "error", "cached", "submodels", "machine", "placement")
"""Of each frame; a column for each device follows where there are trials."""


def trials_frame(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return one row for each trial, indexed by number.

    Columns: `origin`, `latency_ms`, `ratio`, `error`, `cached`, `submodels` (their number), `machine` (the one
    of a fleet that measured it; empty without a fleet), `placement` (its hash), and `ops on <device>` for each device.
    A failed trial has no latency and no ratio.

    Raises:
        UsageError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError("a data frame needs pandas; pip install 'ovplace[notebook]'") from error
    rows = [_row(trial) for trial in trials]
    frame = pd.DataFrame(rows, index=[trial.number for trial in trials], columns=None if rows else COLUMNS)
    return frame.rename_axis("trial")


def _row(trial: Trial) -> dict[str, Any]:
    measured = trial.measurement
    on_devices = {f"ops on {name}": count for name, count in trial.placement.ops_per_device().items()}
    return {
        "origin": trial.origin,
        "latency_ms": measured.median_ms if measured.ok else None,
        "ratio": trial.ratio if measured.ok else None,
        "error": f"{measured.error}: {measured.error_text}" if measured.error else "",
        "cached": trial.cached,
        "submodels": len(measured.submodels),
        "machine": trial.machine,
        "placement": trial.placement.hash,
        **on_devices,
    }
