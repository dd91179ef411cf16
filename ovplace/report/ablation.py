"""An ablation as plain data: each variant on each model and machine, from what `ovplace ablate` has left."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ovplace.config.files import reachable
from ovplace.errors import StoreError
from ovplace.report.numbers import Triple, short

FILE, SCHEMA = "ablation.json", 1
"""File in the folder of an ablation, as `ovplace.experiments.ablation` writes it, and the version of its format."""


@dataclass(frozen=True)
class VariantRow:
    """A variant on one model and machine; means over seeds with 95 % intervals, None where there are none.

    Attributes:
        name: of the variant.
        runs: finished runs of all, in words.
        faster: how many of them have the verdict `faster`.
        latency_ms: of the answer.
        to_full: latency over that of the variant that changes nothing, paired by seed.
        to_single: latency over that of the best single device.
        found_to_single: the best placement on several devices over the best single device.
        measured: placements measured.
        pages: seed and folder of each finished run, within the ablation's folder: their reports are linked.
    """

    name: str
    runs: str
    faster: int
    latency_ms: Triple | None
    to_full: Triple | None
    to_single: Triple | None
    found_to_single: Triple | None
    measured: float | None
    pages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Place:
    """The variants on one model and machine.

    Attributes:
        title: model and machine; what is simulated or emulated says so.
        variants: the one that changes nothing first.
    """

    title: str
    variants: tuple[VariantRow, ...]


@dataclass(frozen=True)
class Ablation:
    """An ablation.

    Attributes:
        name: of its file.
        settings: what each variant changes, in words.
        places: its models on their machines.
        failures: run and error of those that failed.
    """

    name: str
    settings: tuple[tuple[str, str], ...]
    places: tuple[Place, ...]
    failures: tuple[tuple[str, str], ...]

    def to_data(self) -> dict[str, Any]:
        """Return plain data, numbers of five significant digits: what the page draws from."""
        found: dict[str, Any] = short(asdict(self))
        return found


def is_ablation(folder: Path) -> bool:
    """Return whether a folder is that of an ablation, not of a run.

    Raises:
        UsageError: it may not be entered, or no folder has such a name.
    """
    return reachable(folder / FILE, "the file").is_file()


def read_ablation(folder: Path) -> Ablation:
    """Return the ablation that lies in a folder.

    Raises:
        StoreError: it cannot be read, or is of another version.
    """
    try:
        return ablation_of(json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"cannot read '{folder / FILE}': {error}; run the 'ovplace ablate' command again") from error


def ablation_of(data: Mapping[str, Any]) -> Ablation:
    """Return the ablation that `ablation.json` holds.

    Raises:
        KeyError: a field is missing.
        ValueError: it is of another version.
    """
    if data["schema"] != SCHEMA:
        raise ValueError(f"it has schema {data['schema']}, this ovplace reads {SCHEMA}")
    pages: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for run in data["runs"]:
        if run["status"] == "finished":
            inside = Path(run["folder"]).relative_to(data["folder"]).as_posix()
            pages.setdefault(_cell(run), []).append((str(run["seed"]), inside))
    failed = [run for run in data["runs"] if run["status"] == "failed"]
    return Ablation(
        name=data["name"],
        settings=tuple((name, _text(changed)) for name, changed in data["variants"].items()),
        places=tuple(
            Place(title, tuple(_row(cell, pages.get(_cell(cell), ())) for cell in cells))
            for title, cells in by_place(data["cells"])
        ),
        failures=tuple((run["folder"], run["error"]) for run in failed),
    )


def by_place(cells: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Yield a title and the rows of each model and machine; what is simulated or emulated says so in the title."""
    for (model, _), group in groupby(cells, key=lambda cell: (cell["model"], cell["machine"])):
        of = list(group)
        where = max((cell["where"] for cell in of), key=len)  # a variant without a finished run has no devices
        yield f"{model} on {where}", of


def _cell(of: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the runs of a variant on one model and machine have in common."""
    return of["variant"], of["model"], of["machine"]


def _row(cell: Mapping[str, Any], pages: Sequence[tuple[str, str]]) -> VariantRow:
    return VariantRow(
        name=cell["variant"],
        runs=f"{cell['finished']}/{cell['runs']}",
        faster=cell["faster"],
        latency_ms=_triple(cell["latency_ms"]),
        to_full=_triple(cell["to_full"]),
        to_single=_triple(cell["to_single"]),
        found_to_single=_triple(cell["found_to_single"]),
        measured=cell["measured"],
        pages=tuple(pages),
    )


def _triple(found: Mapping[str, Any] | None) -> Triple | None:
    """Return a mean with its interval; one seed has none, and both ends are the mean."""
    if found is None:
        return None
    low, high = found["ci95"] or (found["value"], found["value"])
    return found["value"], low, high


def _text(settings: Mapping[str, Any], prefix: str = "") -> str:
    """Return nested settings as `section.key = value` texts."""
    parts = (
        _text(value, f"{prefix}{key}.") if isinstance(value, Mapping) else f"{prefix}{key} = {value}"
        for key, value in settings.items()
    )
    return ", ".join(part for part in parts if part)
