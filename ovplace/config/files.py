"""Files that users name: their own, or those that come with ovplace."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from ovplace.errors import UsageError
from ovplace.shipped import shipped, shipped_in

RUNS = ("configs", "configs/placers", "configs/paper")
"""Folders of the configurations of runs; the others are of ablations, trainings and simulated machines."""


def find_config(text: str | Path) -> Path:
    """Return the configuration of a run that `text` means: a path, or a name such as `placers/genetic`.

    Raises:
        UsageError: there is none.
    """
    return find_toml(text, "configs", "configuration", run_configs())


def run_configs() -> list[str]:
    """Return the names of the configurations of runs that come with ovplace."""
    return [f"{folder}/{name}".removeprefix("configs/") for folder in RUNS for name in shipped_in(folder, ".toml")]


def find_toml(text: str | Path, folder: str, kind: str, names: Sequence[str] = ()) -> Path:
    """Return the file that `text` means: a path, or the name of one that comes with ovplace.

    Args:
        text: what the user wrote.
        folder: where those that come with ovplace are, such as `configs/train`.
        kind: what it is, for the error text.
        names: those in the folder that may be meant; all by default.

    Raises:
        UsageError: there is none; the text lists the choices.
    """
    if Path(text).is_file():
        return Path(text)
    known = names or shipped_in(folder, ".toml")
    name = str(text).removeprefix(f"{folder}/").removesuffix(".toml")
    found = shipped(f"{folder}/{name}.toml") if name in known else None
    if found is None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"there is no {kind} '{text}'; {hint}give a .toml file, or one of: {', '.join(known)}")
    return found
