"""Writing the answer of a run in another format."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ovplace.atomic import delete_abandoned
from ovplace.config import toml
from ovplace.config.resolve import choose_plugin
from ovplace.errors import ConfigError, StoreError
from ovplace.plugins.blame import blaming
from ovplace.plugins.protocols import Exporter
from ovplace.session.run_files import check_keeps_model
from ovplace.store.overwriting import check_keeps_runs
from ovplace.store.run_folder import RunFolder


def exporter(name: str, settings: Iterable[str] = ()) -> Exporter:
    """Return an exporter.

    Args:
        name: its name.
        settings: `key=value` texts, put over its defaults.

    Raises:
        UsageError: there is none of that name.
        ConfigError: a setting is not understood.
    """
    settings = tuple(settings)
    for text in settings:
        key, equals, _ = text.partition("=")
        if not (key.strip() and equals):
            raise ConfigError(f"--set takes KEY=VALUE, a setting of the exporter '{name}'; got '{text}'")
    given = toml.assignments(f"exporter.{text}" for text in settings).get("exporter", {})
    built: Exporter = choose_plugin("exporters", name, given).build()
    return built


def export(folder: Path, using: Exporter, target: Path | None = None) -> list[Path]:
    """Write the answer that lies in a run folder in another format.

    Args:
        folder: a finished run, or an exported one.
        using: the exporter.
        target: the file, or the folder where the format has several files; by default the exporter's, in `folder`.

    Returns:
        The files written, the main one first.

    Raises:
        PlacementError: there is no finished run.
        UsageError: the target is one of the files of a run, a run folder, or the run's model.
        StoreError: the target cannot be written.
    """
    check(folder)
    target = target or folder / using.target
    with blaming(type(using), "the exporter"):
        try:
            check_keeps_runs(target, folder)
            check_keeps_model(target, folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            written = using.write(folder, target)
            for path in written:  # what an export that was killed had made of it
                delete_abandoned(path.parent, (path.name,))
            return written
        except OSError as error:
            raise StoreError(f"cannot write '{target}': {error.strerror}; choose another place with -o") from error


def limits(folder: Path, using: Exporter) -> tuple[str, ...]:
    """Return what a format cannot carry of the answer that lies in a run folder, one line each.

    Args:
        folder: a finished run, or an exported one.
        using: the exporter.

    Raises:
        PlacementError: there is no finished run.
    """
    check(folder)
    with blaming(type(using), "the exporter"):
        found: Any = using.limits(folder)
        if isinstance(found, str) or not all(isinstance(limit, str) for limit in found):
            raise TypeError(f"limits() must return a tuple of strings, got {found!r}")
        return tuple(found)


def check(folder: Path) -> None:
    """Check that there is an answer to export.

    Raises:
        PlacementError: there is none.
    """
    files = RunFolder(folder)
    files.check_exists()
    if not files.placement.exists():
        raise files.unfinished("placement.json")
