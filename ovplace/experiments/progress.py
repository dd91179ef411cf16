"""How far each run of an ablation is, by what its folder holds."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace.config import toml
from ovplace.errors import ConfigError, StoreError
from ovplace.experiments import score
from ovplace.experiments.plan import Run
from ovplace.experiments.score import Score
from ovplace.session.session import CONFIG

ERROR = "error.txt"


@dataclass(frozen=True)
class State:
    """A run as its folder has it.

    Attributes:
        run: which one.
        score: None if it is not finished.
        result: what `result.json` holds; empty if it is not finished.
        error: why it failed the last time; empty if it did not.
    """

    run: Run
    score: Score | None = None
    result: dict[str, Any] | None = None
    error: str = ""


def state(run: Run) -> State:
    """Return how far a run is, by its folder."""
    error = ""
    with contextlib.suppress(OSError):
        error = (run.folder / ERROR).read_text(encoding="utf-8").strip()
    try:
        found = score.stored(run.folder)
        if found is None:
            return State(run, error=error)
        if not _is_this(run):
            return State(run, error=error or "the folder holds a run with other settings")
        return State(run, found, json.loads((run.folder / "result.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, ConfigError, StoreError) as damage:
        return State(run, error=error or f"the run folder is damaged: {damage}")


def _is_this(run: Run) -> bool:
    return toml.build(toml.read(run.folder / CONFIG)) == run.config


def note(folder: Path, error: str) -> None:
    """Note why a run failed; "" that it did not.

    Raises:
        StoreError: that cannot be written.
    """
    try:
        if error:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ERROR).write_text(error + "\n", encoding="utf-8")
        else:
            (folder / ERROR).unlink(missing_ok=True)
    except OSError as problem:
        raise StoreError(f"cannot write '{folder}': {problem.strerror}; choose another folder with -o") from problem
