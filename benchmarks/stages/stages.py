"""Placements in stages against the same placements by HETERO.

Random placements of one region to as many as there are groups are measured both ways, in turns. `ratio` is the latency
in stages over that by HETERO: median, and the range of the middle 95 %. `us a stage` is the difference of the two over
the number of submodels, in microseconds: the median. `compile` is the time to compile in stages over
that by HETERO, the stages of earlier placements being kept. `other submodels` counts placements of which HETERO formed
other submodels than its rule as known here says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.plugins import registry
from ovplace.session.measurer import latency_ratio
from ovplace.session.session import Session

SPEC = MeasureSpec(warmup=1, blocks=5, repeats=3, min_time_ms=10.0, hopeless_ratio=1e9)

LOW, HIGH = 0.97, 1.03
"""Aims of the ratio."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: names of devices in `benchmarks.sessions`.
        placements: random placements of each model on each pair of devices.
    """

    models: tuple[str, ...] = (
        "demo", "siren", "hyperbolic", "decoder", "unet", "mobilenet-v2", "detector-head", "lstm",
    )  # fmt: skip
    devices: tuple[str, ...] = ("cpu+cpu", "cpu+emulated-gpu")
    placements: int = 13


SHORT = Options(models=("demo",), devices=("cpu+cpu",), placements=3)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and pair of devices."""
    for devices in options.devices:
        for model in options.models:
            with measured_session(model, devices) as opened:
                session = opened.measurer.session
                both = [_both(session, placement) for placement in _random(session, options.placements)]
            yield {"model": model, "devices": devices, **_row(both)}


def _random(session: Session, count: int) -> list[Placement]:
    draw = registry.load("placers", "random")
    placer = draw.factory(session.problem, draw.config({}))
    return [placement for placement in placer.ask(4 * count) if not placement.is_uniform][:count]


def _both(session: Session, placement: Placement) -> tuple[Measurement, Measurement]:
    candidates = [Candidate("in stages", placement, staged=True), Candidate("by HETERO", placement)]
    staged, whole = session.pool.measure(candidates, SPEC)
    return staged, whole


def _row(both: list[tuple[Measurement, Measurement]]) -> Row:
    ran = [(staged, whole) for staged, whole in both if staged.ok and whole.ok]
    ratios = np.array([latency_ratio(staged, whole) for staged, whole in ran])
    low, middle, high = np.percentile(ratios, [2.5, 50, 97.5])
    extra_us = [1e3 * (r - 1) * w.median_ms / len(w.submodels) for r, (_, w) in zip(ratios, ran, strict=True)]
    return {
        "placements": len(ran),
        "failed one way": sum(staged.ok != whole.ok for staged, whole in both),
        "submodels": f"{min(len(w.submodels) for _, w in ran)} to {max(len(w.submodels) for _, w in ran)}",
        "other submodels": sum(sorted(staged.submodels) != sorted(whole.submodels) for staged, whole in ran),
        "ratio": f"{middle:.3f} [{low:.3f}, {high:.3f}]",
        "us a stage": f"{np.median(extra_us):.1f}",
        f"{LOW} to {HIGH}": f"{np.mean((ratios >= LOW) & (ratios <= HIGH)):.0%}",
        "compile": f"{sum(s.compile_ms for s, _ in ran) / sum(w.compile_ms for _, w in ran):.2f}",
    }
