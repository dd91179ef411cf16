"""Several runs side by side, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ovplace.core.result.labels import interval_text, size
from ovplace.report.evidence import Evidence, read_evidence
from ovplace.report.numbers import Triple, short, triple
from ovplace.report.sections.history import history_section
from ovplace.report.sections.verdict import VerdictSection, verdict_section


@dataclass(frozen=True)
class RunRow:
    """A run of a comparison.

    Attributes:
        name: its folder.
        model: the model's name.
        verdict: its verdict.
        placer: its placer.
        against: the baseline that its best placement was compared with.
        latency_ms: latency and interval of its answer.
        ratio: its best placement over that baseline, with interval; None where nothing was compared.
        interval: that interval and its level, in words.
        devices: operations on each device, in words.
        submodels: how many its answer has.
        copied: bytes that its answer copies between devices, in words.
        seconds: wall time of the run.
        best: lowest ratio after each trial, `[T]`; None before the first success.
    """

    name: str
    model: str
    verdict: VerdictSection
    placer: str
    against: str
    latency_ms: Triple | None
    ratio: Triple | None
    interval: str
    devices: str
    submodels: int
    copied: str
    seconds: float
    best: tuple[float | None, ...]


@dataclass(frozen=True)
class Comparison:
    """Several runs side by side."""

    runs: tuple[RunRow, ...]

    def to_data(self) -> dict[str, Any]:
        """Return plain data, numbers of five significant digits: what the page draws from."""
        found: dict[str, Any] = short(asdict(self))
        return found


def compare(folders: Sequence[Path]) -> Comparison:
    """Return several finished runs side by side.

    Raises:
        PlacementError: a folder holds no finished run.
        StoreError: its files are damaged, or of a version that groups otherwise.
    """
    return Comparison(tuple(row_of(read_evidence(folder)) for folder in folders))


def row_of(evidence: Evidence) -> RunRow:
    """Return one run of a comparison."""
    result = evidence.result
    used = {name: count for name, count in result.best.ops_per_device.items() if count}
    return RunRow(
        name=str(evidence.run.folder),
        model=Path(result.model.path).stem,
        verdict=verdict_section(evidence),
        placer=result.search.placer,
        against=evidence.label(result.verdict.against),
        latency_ms=triple(result.best.latency_ms),
        ratio=triple(result.verdict.ratio),
        interval=interval_text(result.verdict.ratio) if result.verdict.ratio else "-",
        devices=", ".join(f"{count:,} on {evidence.label(name)}" for name, count in used.items()),
        submodels=len(result.best.submodels),
        copied=size(result.best.cut_bytes),
        seconds=result.search.seconds.total,
        best=history_section(evidence).best,
    )
