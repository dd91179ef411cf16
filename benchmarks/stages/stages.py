"""Placements in stages against the same placements by HETERO.

Random placements of one region to as many as there are groups are measured both ways, in turns. `ratio` is the latency
in stages over that by HETERO: median, and the range of the middle 95 %; `HETERO again` is the same for the placement
compiled by HETERO once more in place of the stages, which shows what compiling anew changes. `us a stage`: how much
longer a placement takes in stages than by HETERO, over the number of submodels, in microseconds: the median. `compile`
is the time to compile in stages over that by HETERO, the stages of earlier placements being kept. `other submodels`
counts placements of which HETERO formed other submodels than its rule as known here says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.graphs.op_graph import FloatArray
from ovplace.plugins import registry
from ovplace.session.measurer import latency_ratio
from ovplace.session.session import Session

SPEC = MeasureSpec(warmup=1, blocks=11, repeats=3, min_time_ms=20.0, hopeless_ratio=1e9)

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


class Measured(NamedTuple):
    """A placement in stages, by HETERO, and compiled by HETERO once more, measured in turns."""

    staged: Measurement
    whole: Measurement
    again: Measurement


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and pair of devices."""
    for devices in options.devices:
        for model in options.models:
            with measured_session(model, devices) as opened:
                session = opened.measurer.session
                measured = [_thrice(session, placement) for placement in _random(session, options.placements)]
            yield {"model": model, "devices": devices, **_row(measured)}


def _random(session: Session, count: int) -> list[Placement]:
    draw = registry.load("placers", "random")
    placer = draw.factory(session.problem, draw.config({}))
    return [placement for placement in placer.ask(4 * count) if not placement.is_uniform][:count]


def _thrice(session: Session, placement: Placement) -> Measured:
    aliases = [session.nulls[name].name if name in session.nulls else name for name in placement.devices]
    candidates = [
        Candidate("in stages", placement, staged=True),
        Candidate("by HETERO", placement),
        Candidate("by HETERO again", Placement(placement.device_of, tuple(aliases))),
    ]
    return Measured(*session.pool.measure(candidates, SPEC))


def _row(all_measured: list[Measured]) -> Row:
    ran = [m for m in all_measured if m.staged.ok and m.whole.ok and m.again.ok]
    ratios = np.array([latency_ratio(m.staged, m.whole) for m in ran])
    again = np.array([latency_ratio(m.again, m.whole) for m in ran])
    submodels = np.array([len(m.whole.submodels) for m in ran])
    extra_us = 1e3 * (ratios - 1) * np.array([m.whole.median_ms for m in ran]) / submodels
    return {
        "placements": len(ran),
        "failed one way": sum(m.staged.ok != m.whole.ok for m in all_measured),
        "submodels": f"{submodels.min()} to {submodels.max()}",
        "other submodels": sum(sorted(m.staged.submodels) != sorted(m.whole.submodels) for m in ran),
        "ratio": _spread(ratios),
        f"{LOW} to {HIGH}": _within(ratios),
        "HETERO again": _spread(again),
        f"again {LOW} to {HIGH}": _within(again),
        "us a stage": f"{np.median(extra_us):.1f}",
        "compile": f"{sum(m.staged.compile_ms for m in ran) / sum(m.whole.compile_ms for m in ran):.2f}",
    }


def _spread(ratios: FloatArray) -> str:
    low, middle, high = np.percentile(ratios, [2.5, 50, 97.5])
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def _within(ratios: FloatArray) -> str:
    return f"{np.mean((ratios >= LOW) & (ratios <= HIGH)):.0%}"
