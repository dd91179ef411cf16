"""The search as it went: each trial, and the best so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ovplace.core.certificate import finite
from ovplace.core.measurement import Measurement, Trial
from ovplace.report.evidence import Evidence


@dataclass(frozen=True)
class HistorySection:
    """The trials of a search, in order, `[T]` each.

    Attributes:
        number: its number; some may be missing, as those that a fleet has not measured yet.
        ratio: latency over the reference's, measured in turns; None for a failure.
        best: lowest ratio so far; None before the first success.
        origin: the placer that asked for it.
        cached: whether the measurement is one that the run had stored.
        on_devices: operations on each device, in words.
        failure: kind and text of the error; empty where it ran.
        placer: the run's placer.
        reference: name of what the ratios refer to.
    """

    number: tuple[int, ...]
    ratio: tuple[float | None, ...]
    best: tuple[float | None, ...]
    origin: tuple[str, ...]
    cached: tuple[bool, ...]
    on_devices: tuple[str, ...]
    failure: tuple[str, ...]
    placer: str
    reference: str


def history_section(evidence: Evidence) -> HistorySection:
    """Return the history of a run."""
    result = evidence.result
    reference = evidence.label(result.baselines[0].name)
    return history_of(evidence.trials, result.search.placer, reference, evidence.label)


def history_of(
    trials: Sequence[Trial], placer: str, reference: str, label: Callable[[str], str] = str
) -> HistorySection:
    """Return the history of some trials.

    Args:
        trials: in order.
        placer: the run's placer.
        reference: what the ratios refer to.
        label: returns the name of a device as it is shown.
    """
    ratios = [trial.ratio for trial in trials]
    counts = [trial.placement.ops_per_device() for trial in trials]
    return HistorySection(
        number=tuple(trial.number for trial in trials),
        ratio=tuple(map(finite, ratios)),
        best=tuple(map(finite, accumulate(ratios, min))),
        origin=tuple(trial.origin for trial in trials),
        cached=tuple(trial.cached for trial in trials),
        on_devices=tuple(", ".join(f"{n} on {label(name)}" for name, n in of.items() if n) for of in counts),
        failure=tuple(_failure(trial.measurement) for trial in trials),
        placer=placer,
        reference=reference,
    )


def _failure(measured: Measurement) -> str:
    return f"{measured.error}: {measured.error_text}" if measured.error else ""
