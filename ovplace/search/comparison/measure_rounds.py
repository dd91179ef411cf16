"""Measuring the rounds of the final comparison, until they suffice or the time is up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.search.comparison.afresh import measured_afresh, stored_afresh
from ovplace.search.comparison.judgement import leading, rounds_wanted
from ovplace.search.comparison.planned_rounds import plan_rounds, planned_rounds
from ovplace.search.comparison.rounds import MIN_ROUNDS, Rounds
from ovplace.session.deadline import Phase, TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.fitting import fitting
from ovplace.session.measurer import Measurer

_ROUND = "round"

_FITTED_ROUNDS = 3
"""Candidates are timed for a shorter time where so many rounds would not fit. An interval from two is very wide."""


def measure_rounds(
    measurer: Measurer,
    entrants: Sequence[tuple[Candidate, Measurement]],
    close: Sequence[str],
    finalists: Sequence[str],
    listener: Listener,
) -> tuple[Rounds, bool]:
    """Measure all candidates in turns, in one fresh process a round, through the store.

    Args:
        measurer: measures and stores.
        entrants: all candidates, the placement first, then the best baseline; each with an earlier measurement of it,
            or of one like it.
        close: names of the baselines that the placement is to beat.
        finalists: names of the placements, of which the fastest one is judged.
        listener: is called with each step.

    Returns:
        The rounds, in which an answer whose outputs are too far off has failed; whether the time of the call cut them
        short.
    """
    config, candidates = measurer.session.config.comparison, [candidate for candidate, _ in entrants]
    answers = {*close, *finalists}
    rounds, number, planned = Rounds(), 0, planned_rounds(measurer, candidates[0])
    most = planned
    clock = measurer.time.clock
    measurer.enter(Phase.COMPARISON)
    spec = _spec(measurer, entrants)
    while number < most:
        start = clock()
        listener(Progress(Phase.COMPARISON, number, most, f"{candidates[0].name} against {candidates[1].name}"))
        try:
            measured = measured_afresh(measurer, candidates, spec, _ROUND, number)
        except TimeIsUpError:
            return rounds, True
        number += 1
        by_name = {
            candidate.name: measurer.check_outputs(m) if candidate.name in answers else m
            for candidate, m in zip(candidates, measured, strict=True)
        }
        rounds = _with_round(rounds, by_name, candidates[:2], is_planned=number <= planned)
        if number == 1:
            planned = plan_rounds(measurer, candidates[0], clock() - start)
        most = rounds_wanted(rounds, leading(rounds, finalists), close, number, planned, config.rounds // 2)
        # The second round may end late: without it there is no verdict. A further one has to fit, or be stored.
        measurer.deadline = measurer.deadline.with_grace(clock() - start)
        may_end = len(rounds) >= MIN_ROUNDS and number < most and measurer.deadline.left_s < clock() - start
        if may_end and not stored_afresh(measurer, candidates, spec, _ROUND, number):
            return rounds, True
    listener(Progress(Phase.COMPARISON, most, most, "done"))
    return rounds, False


def _spec(measurer: Measurer, entrants: Sequence[tuple[Candidate, Measurement]]) -> MeasureSpec:
    """Return how long candidates are timed in a round: as configured if that fits, or if such rounds are stored."""
    spec, candidates = measurer.session.config.round_spec, [candidate for candidate, _ in entrants]
    spec = replace(spec, deadline_s=spec.deadline_s * len(entrants))
    if stored_afresh(measurer, candidates, spec, _ROUND, 0):
        return spec
    expected = [measurement for _, measurement in entrants]
    return fitting(spec, expected, measurer.deadline.left_s / _FITTED_ROUNDS) or spec.one_sample()


def _with_round(
    rounds: Rounds, by_name: Mapping[str, Measurement], first: Sequence[Candidate], *, is_planned: bool
) -> Rounds:
    """Return the rounds with one more, which counts if the first candidates worked: placement and best baseline."""
    if not all(by_name[candidate.name].ok for candidate in first):
        return replace(rounds, failed=(*rounds.failed, by_name))
    return replace(rounds, measured=(*rounds.measured, by_name), planned=rounds.planned + is_planned)
