"""A training that another machine asks a worker of a fleet for: plain data, which may name nothing of this machine."""

from __future__ import annotations

import json
import tempfile
import threading
import tomllib
from pathlib import Path
from typing import Any

from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import BackendError, UsageError
from ovplace.plugins import registry
from ovplace.simulation.machine_file import machine_names
from ovplace.train.training_config import TrainConfig
from ovplace.train.training_process import TrainingProcess

_NAMED = {"placer": "placers", "features": "features", "machines": "machines", "held_out_machines": "machines"}
"""Settings of `[train]` that are names here, though a path or a module would be accepted on the command line."""


class WorkerTraining:
    """One training, which `clear` ends from another thread."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: TrainingProcess | None = None
        self._lock, self._ended = threading.Lock(), False

    def run(self, text: str) -> dict[str, Any]:
        """Train in a process of its own; return the bytes of the policy file, and the report as JSON.

        Args:
            text: text of the plan.

        Raises:
            OvplaceError: as `run_training` does, or the training names files or code of this machine.
        """
        check_names(text)
        with tempfile.TemporaryDirectory() as folder:
            policy = Path(folder) / "policy.npz"
            with self._lock:
                if self._ended:
                    raise BackendError("the training that this was asked for is gone")
                self._process = TrainingProcess(text, policy)
            report = self._process.run()
            return {"policy": policy.read_bytes(), "report": json.dumps(report)}

    def clear(self) -> None:
        """End the training."""
        with self._lock:
            self._ended, process = True, self._process
        if process is not None:
            process.kill()


def check_names(text: str) -> None:
    """Refuse a training that names a file or a module instead of what comes with ovplace or is installed.

    Args:
        text: text of the plan.

    Raises:
        UsageError: it does.
    """
    try:
        tables = tomllib.loads(text)
        train: TrainConfig = build_dataclass(TrainConfig, dict(tables["train"]), "train")  # a list may be one text
        policy = dict(tables.get("placer", {})).get("policy", "")
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"the text of the training is not understood: {error}") from error
    known = {role: set(registry.names(role)) for role in ("placers", "features")} | {"machines": set(machine_names())}
    for key, kind in _NAMED.items():
        given = getattr(train, key)
        for name in given if isinstance(given, tuple) else (given,):
            if name not in known[kind]:
                raise UsageError(f"'{name}' in 'train.{key}' does not come with ovplace; a worker reads no other files")
    if policy not in ("", "shipped"):
        raise UsageError(f"'{policy}' in 'placer.policy' is a file; a worker reads none")
