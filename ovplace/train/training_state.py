"""The state file of a training, from which it continues."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ovplace.atomic import atomic_write
from ovplace.core.text.json_text import parse_json
from ovplace.errors import ConfigError, StoreError

VERSION = 1
"""Version of the state file."""


@dataclass(frozen=True)
class TrainingState:
    """Contents of the state file, which has `VERSION` besides.

    Attributes:
        plan: text of the plan.
        number: number of updates made.
        recent: mean excess latency of the last updates, as a fraction of the best known.
        weights: state of the trainer, as text.
        machines: fingerprints of the machines; empty in the files of earlier versions.
    """

    plan: str
    number: int
    recent: tuple[float, ...]
    weights: str
    machines: tuple[str, ...] = ()


def read_training_state(file: Path) -> TrainingState | None:
    """Return the state in a file; None if there is no file.

    Raises:
        ConfigError: the file is damaged, or of another version.
        StoreError: the file cannot be read.
    """
    try:
        data = parse_json(file.read_text(encoding="utf-8"))
        if data.get("version") != VERSION:
            raise ConfigError(
                f"'{file}' is of version {data.get('version', 0)}, this ovplace reads {VERSION}; delete it and run "
                "'ovplace train' again to train from the beginning"
            )
        recent, machines = tuple(map(float, data["recent"])), tuple(map(str, data.get("machines", ())))
        return TrainingState(str(data["plan"]), int(data["number"]), recent, data["weights"], machines)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read '{file}': {error.strerror}; delete it, or choose another with -o") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise damaged(file) from error


def damaged(file: Path) -> ConfigError:
    """Return the error to raise for a state that cannot be used."""
    return ConfigError(f"'{file}' is damaged, or of another version; delete it to train from the beginning")


def other_training(file: Path) -> ConfigError:
    """Return the error to raise for a file that another training has left, or this one on other machines."""
    return ConfigError(
        f"'{file}' is of another training, or a machine has changed since; delete it, or choose another output with -o"
    )


def write_training_state(state: TrainingState, file: Path) -> None:
    """Write the state file atomically.

    Args:
        state: the state.
        file: its file.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, json.dumps({"version": VERSION, **asdict(state)}))
    except OSError as error:
        raise StoreError(f"cannot write '{file}': {error.strerror}; choose another output with -o") from error
