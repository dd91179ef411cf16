"""The expected duration of measurements, judged by earlier ones, and fewer inferences where it would be too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ovplace.core.measurement import Measurement, MeasureSpec


def inferring_s(pace_s: float, spec: MeasureSpec) -> float:
    """Return about how many seconds the inferences of one candidate take.

    Args:
        pace_s: what one inference is expected to take, in seconds.
        spec: how long and how often the candidate is to be timed.
    """
    block_s = max(spec.repeats * pace_s, spec.min_time_ms / 1e3)
    return (2 + spec.warmup) * pace_s + spec.blocks * (spec.settling_ms / 1e3 + pace_s + block_s)


def measuring_s(measured: Measurement, spec: MeasureSpec) -> float:
    """Return about how many seconds a candidate takes that is compiled anew.

    Args:
        measured: an earlier measurement of it, or of one like it.
        spec: how long and how often it is to be timed.
    """
    return (measured.compile_ms + measured.first_ms) / 1e3 + inferring_s(measured.median_ms / 1e3, spec)


def fitting(spec: MeasureSpec, measured: Sequence[Measurement], left_s: float) -> MeasureSpec | None:
    """Return the specification if its inferences fit, else one with a sample in each block, or in all; else None.

    Args:
        spec: how long and how often candidates that take turns are to be timed.
        measured: one earlier measurement of each.
        left_s: seconds for all of them.
    """
    # A candidate that is hopeless beside the fastest one gets one sample, whatever the specification says.
    fastest = min(m.median_ms for m in measured)
    hopeless = [m.median_ms > spec.hopeless_ratio * fastest for m in measured]
    for tried in (spec, replace(spec, warmup=0, repeats=1, min_time_ms=0.0), spec.one_sample()):
        single = replace(tried, blocks=1, repeats=1, min_time_ms=0.0)
        specs = [single if h else tried for h in hopeless]
        if sum(inferring_s(m.median_ms / 1e3, s) for m, s in zip(measured, specs, strict=True)) <= left_s:
            return tried
    return None
