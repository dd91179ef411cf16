"""The time limit of a call: the expected time of its search and final comparison, and notes on what was cut short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ovplace.config.schema import ComparisonConfig
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.text.plural import plural
from ovplace.session.baselines import Baseline
from ovplace.session.deadline import Phase
from ovplace.session.events import Listener, Progress
from ovplace.session.fitting import inferring_s, measuring_s
from ovplace.session.measurer import Measurer
from ovplace.session.session import Session

IMPORTING = 0.15
"""Time to import a placement over that to compile it (`python -m benchmarks run imported`): the final comparison
imports what its first processes compiled."""

NOTABLE_SHARE = 0.1
"""Part of the time that is left at the end from which the result says so."""


def expected_s(session: Session, baselines: Sequence[Baseline]) -> tuple[float, float]:
    """Return about how many seconds the search and the final comparison take; simulated inferences take none.

    Args:
        session: the run.
        baselines: measured. A placement is taken to compile as long as they do for all devices together; in stages
            it takes less.
    """
    config, search = session.config.comparison, session.config.search
    working = [b.measurement for b in baselines if b.measurement.ok and b.candidate.placement]
    rounds = (config.rounds + 1) // 2  # which suffice for a clear gain; a limited call spends the others on searching
    starts = config.race / config.finalists + rounds
    if session.selection.simulated:
        return 0.0, starts * session.starting_s
    placements = search.measurements or float("inf")
    searching_s = placements * sum(measuring_s(m, session.config.measure.of_trial()) for m in working[:2])
    running_s = starts * (session.starting_s + _round_s(session, working))
    return searching_s, running_s + _compiling_s(working, starts, config)


def _round_s(session: Session, working: Sequence[Measurement]) -> float:
    """Return the time of the inferences of a round; the placement is taken to be as fast as the fastest device."""
    spec = session.config.round_spec
    fastest = min(working, key=lambda m: m.median_ms)
    slow_ms = session.config.measure.hopeless_ratio * fastest.median_ms
    specs = [spec, *(spec.one_sample() if m.median_ms > slow_ms else spec for m in working)]
    timed = zip((fastest, *working), specs, strict=True)
    return sum(m.first_ms / 1e3 + inferring_s(m.median_ms / 1e3, s) for m, s in timed)


def _compiling_s(working: Sequence[Measurement], starts: float, config: ComparisonConfig) -> float:
    """Return the time of compiling the finalists and the rest, and of importing them in all later processes."""
    compiled = min(starts, config.finalists)
    compilations = compiled + IMPORTING * (starts - compiled)
    return compilations * sum(m.compile_ms for m in (working[0], *working)) / 1e3


def with_labels(listener: Listener, session: Session) -> Listener:
    """Return a listener that is told of emulated and simulated devices as such.

    Args:
        listener: is called with each step.
        session: the run.
    """

    def listen(event: Progress) -> None:
        named = event.phase in (Phase.BASELINES, Phase.COMPARISON)
        text = session.shown(event.text) if named else event.text
        listener(replace(event, text=text))

    return listen


def with_reference(listener: Listener, name: str) -> Listener:
    """Return a listener that is told, too, what ratios are relative to.

    Args:
        listener: is called with each step.
        name: of the reference, as users see it.
    """
    return lambda event: listener(replace(event, reference=name))


def with_time_left(listener: Listener, measurer: Measurer) -> Listener:
    """Return a listener that is told, too, how long the call may still take.

    Args:
        listener: is called with each step.
        measurer: the run's measurer.
    """

    def listen(event: Progress) -> None:
        time = measurer.time
        phase_s = min(event.phase_s, measurer.deadline.left_s)
        listener(replace(event, phase_s=phase_s, later_s=time.later_s(measurer.phase), call_s=time.left_s))

    return listen


def time_notes(
    measurer: Measurer, trials: Sequence[Trial], costs: Mapping[str, Any] | None, *, cut: bool
) -> tuple[str, ...]:
    """Return what to say of a search that the time limit has cut short.

    Args:
        measurer: the run's measurer.
        trials: the search's trials.
        costs: origin of the cost table; None where there is none.
        cut: whether the search ended because its time was up.
    """
    if not measurer.time.is_limited or not measurer.session.problem.is_divisible:
        return ()
    budget = measurer.session.config.search.measurements
    if not trials:  # for lack of time, or because the placer knows none
        return ("there was no time to measure a placement; give a longer time limit",) if cut else ()
    found = []
    estimated, timed, failed = ((costs or {}).get(name, 0) for name in ("estimated", "measured", "failed"))
    if estimated > timed + failed:
        parts = estimated + timed + failed
        found.append(f"profiling was cut short, {timed} of {parts} parts were timed; expect a weak result")
    n_measured = sum(not trial.cached for trial in trials)
    if cut and budget and n_measured < budget:
        found.append(f"the search was cut short after {n_measured} of {budget} placements")
    elif not cut and budget and n_measured >= budget and measurer.time.left_s > NOTABLE_SHARE * measurer.time.limit_s:
        left = f"{measurer.time.left_s:.0f} s before the time was up"
        placements = plural(budget, "placement")
        found.append(f"the search had used its budget of {placements}, {left}; a larger budget uses the rest")
    return tuple(found)
