"""Files that users name: their own, or those that come with ovplace."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from ovplace.errors import StoreError, UsageError
from ovplace.shipped import shipped, shipped_in

RUNS = ("configs", "configs/placers", "configs/paper")
"""Folders of the configurations of runs; the others are of ablations, trainings and simulated machines."""


def given_path(value: object, what: str, example: str) -> Path:
    """Return a path that a caller of the Python interface gave.

    Args:
        value: what was given.
        what: what it is the path of, for the error text.
        example: one that could be given, likewise.

    Raises:
        UsageError: it is no path, or nobody can look it up.
    """
    if not isinstance(value, str | PathLike):
        raise UsageError(
            f"{what} must be a path, got {type(value).__name__}; give a string or a pathlib.Path, such as {example}"
        )
    return reachable(Path(value), what)


def reachable(path: Path, what: str) -> Path:
    """Return a path that can be looked up, whether or not something is there.

    Args:
        path: what a user named; `exists`, `is_file` and `is_dir` raise errors of their own where this does.
        what: what it is the path of, for the error text.

    Raises:
        UsageError: a folder of it may not be entered, no file has such a name here, or the name is not UTF-8.
    """
    try:
        str(path).encode()  # the files of a run are in UTF-8
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise UsageError(f"cannot look up {what} '{path}': {error.strerror}; check the path") from error
    except ValueError as error:  # characters that file names cannot have, or not in this locale
        name = ascii(str(path))
        raise UsageError(f"{what} cannot be called {name}: {error}; choose another name") from error
    return path


def user_folder(variable: str, base_variable: str, usual: str, inside: str = "") -> Path:
    """Return a folder of the user's own: `$variable`, else `ovplace` in `$base_variable`, else in what is usual.

    Args:
        variable: environment variable that names the folder itself.
        base_variable: environment variable that names the folder around it, such as `XDG_CACHE_HOME`.
        usual: the folder around it otherwise, such as `~/.cache`.
        inside: folder in `ovplace`, where it is not that one itself.

    Raises:
        StoreError: none of them says where, as the user has no home folder.
    """
    if chosen := os.environ.get(variable):
        return Path(chosen)
    base = os.environ.get(base_variable)
    try:
        return (Path(base) if base else Path(usual).expanduser()) / "ovplace" / inside
    except RuntimeError as error:
        raise StoreError(f"there is no home folder for '{usual}'; set {variable} to another folder") from error


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
    path = given_path(text, f"the {kind}", "'mine.toml'")
    if path.is_file():
        return path
    known = names or shipped_in(folder, ".toml")
    name = str(text).removeprefix(f"{folder}/").removesuffix(".toml")
    found = shipped(f"{folder}/{name}.toml") if name in known else None
    if found is None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"there is no {kind} '{text}'; {hint}give a .toml file, or one of: {', '.join(known)}")
    return found


def absolute(path: str) -> str:
    """Return the absolute path of a file that is there, which names it from any working directory; others as given."""
    try:
        return str(Path(path).absolute()) if Path(path).is_file() else path
    except OSError:  # no file has so long a name
        return path
