"""The final comparison: the best placement against the best baselines, in turns, in fresh processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.result.labels import short_ms
from ovplace.core.verdict import LEVEL, Status, Verdict
from ovplace.search.comparison.finalists import choose
from ovplace.search.comparison.judgement import close_to_best, hardest_to_beat, leading
from ovplace.search.comparison.measure_rounds import measure_rounds
from ovplace.search.comparison.null_control import null_candidate, with_null_control
from ovplace.search.comparison.rounds import Rounds
from ovplace.session.baselines import Baseline, distinct_answers
from ovplace.session.events import Listener
from ovplace.session.measurer import Measurer
from ovplace.session.session import Session

_TOO_SHORT = "had no time for two rounds; give it more time"
_TOO_FAULTY = "failed too often to be judged"

_LONGEST_REASON = 160
"""Characters of a failure's text that a note quotes."""


@dataclass(frozen=True)
class FinalComparison:
    """The outcome of the final comparison.

    Attributes:
        verdict: whether the best placement is faster than the best baseline.
        placement: the answer: the best placement where it is faster, else the best baseline's.
        origin: the answer's placer, or the baseline's name.
        rounds: all that took turns; empty where nothing was compared.
        found: the best placement; None where nothing was compared.
        failed: hashes of placements that failed when they were measured again, so that nothing was compared.
    """

    verdict: Verdict
    placement: Placement
    origin: str
    rounds: Rounds = field(default_factory=Rounds)
    found: Candidate | None = None
    failed: Collection[str] = ()

    @property
    def best(self) -> tuple[Measurement, ...]:
        """The best placement's measurements, one a round; empty where nothing was compared."""
        return self.rounds.of(self.found.name) if self.found else ()

    def measured(self, baseline: Baseline) -> Sequence[Measurement]:
        """Return a baseline's measurements in the final comparison, those of before where nothing was compared."""
        return self.rounds.of(baseline.name) if self.found else [baseline.measurement]


def decide(
    measurer: Measurer,
    baselines: Sequence[Baseline],
    trials: Sequence[Trial],
    listener: Listener,
    costs: CostTable | None = None,
    earlier_answer: str = "",
) -> FinalComparison:
    """Choose the best placement and the best baselines, compare them, and say which is the answer.

    Args:
        measurer: measures and stores the rounds.
        baselines: all baselines of the run, measured.
        trials: all trials of the search.
        listener: is called with each step.
        costs: costs of the model's groups; None where the search had none.
        earlier_answer: hash of the placement that an earlier call answered with, which takes part; empty for none.

    Returns:
        The answer, with the verdict and the measurements behind it.
    """
    session = measurer.session
    others = _distinct(trials, baselines)
    rivals = comparable(trials, baselines)
    raced = choose(measurer, rivals, costs, listener)
    best = raced.best
    if best is None:
        failed = [trial.placement.hash for trial in rivals] if raced.failures else []
        return _baseline_answer(_contenders(baselines)[0], _why_none(session, others, raced.failures), failed)
    measured = {trial.candidate.hash: trial.measurement for trial in others}
    measured |= {baseline.candidate.hash: baseline.measurement for baseline in baselines}
    return _compare(measurer, [best, *_earlier_answers(others, earlier_answer, best)], baselines, measured, listener)


def comparable(trials: Sequence[Trial], baselines: Sequence[Baseline]) -> list[Trial]:
    """Return the trials that could be the answer, one a placement, the best first: those that work, no baselines.

    Args:
        trials: the search's trials.
        baselines: all baselines of the run, measured.
    """
    return [trial for trial in _distinct(trials, baselines) if np.isfinite(trial.ratio)]


def _why_none(session: Session, others: Sequence[Trial], failures: Sequence[Measurement]) -> str:
    if not session.problem.is_divisible:
        return "there was nothing else to try"
    if any(np.isfinite(trial.ratio) for trial in others):
        return f"no other placement worked when the best were measured again{_usual_failure(failures)}"
    measured = [trial.measurement for trial in others]
    return f"no other placement worked{_usual_failure(measured)}" if others else "no other placement was tried"


def _usual_failure(measured: Sequence[Measurement]) -> str:
    """Return how most of the failures among measurements failed, in brackets, with one of their texts; or nothing."""
    failed = [measurement for measurement in measured if measurement.error]
    if not failed:
        return ""
    (usual, count) = Counter(measurement.error for measurement in failed).most_common(1)[0]
    text = next(measurement.error_text for measurement in failed if measurement.error == usual)
    return f" ({count} of {len(measured)}: {usual}: {text[:_LONGEST_REASON]})"


def _contenders(baselines: Sequence[Baseline]) -> list[Baseline]:
    """Return the baselines that may be the best one, the most likely first."""
    competing = distinct_answers(baselines)
    return [competing[i] for i in close_to_best([baseline.ratio for baseline in competing])]


def _distinct(trials: Sequence[Trial], baselines: Sequence[Baseline]) -> list[Trial]:
    """Return the trials that do not come to a working baseline, one a placement, the best first."""
    known = {b.placement.hash for b in distinct_answers(baselines) if b.placement}
    distinct: dict[str, Trial] = {}
    for trial in sorted(trials, key=lambda t: t.ratio):
        if trial.placement.hash not in known:
            distinct.setdefault(trial.placement.hash, trial)
    return list(distinct.values())


def _earlier_answers(trials: Sequence[Trial], earlier_answer: str, best: Candidate) -> list[Candidate]:
    """Return the placement that an earlier call answered with, unless it is the best one again."""
    return [trial.candidate for trial in trials if trial.placement.hash == earlier_answer != best.hash]


def _compare(
    measurer: Measurer,
    finalists: Sequence[Candidate],
    baselines: Sequence[Baseline],
    measured: Mapping[str, Measurement],
    listener: Listener,
) -> FinalComparison:
    session, best, contenders = measurer.session, finalists[0], _contenders(baselines)
    null = null_candidate(session, best, contenders[0])
    defaults = [b.candidate for b in baselines if not b.competes and b.candidate.placement and b.measurement.ok]
    others = [*([null] if null else []), *defaults, *finalists[1:]]
    candidates = [best, *(baseline.candidate for baseline in contenders), *others]
    close = [baseline.name for baseline in contenders]
    names = [finalist.name for finalist in finalists]
    like = measured[candidates[1].hash]  # of the null control, too
    entrants = [(candidate, measured.get(candidate.hash, like)) for candidate in candidates]
    rounds, cut = measure_rounds(measurer, entrants, close, names, listener)
    first = leading(rounds, [name for name in names if not rounds.is_wrong(name)] or names)
    if first != best.name:
        best, null = next(finalist for finalist in finalists if finalist.name == first), None
    if why := _why_no_verdict(rounds, best.name, close[0], cut=cut):
        failed = [finalist.hash for finalist in finalists if rounds.failures(finalist.name)]
        return _baseline_answer(contenders[0], why, failed)
    # The better one of two is more often lucky than one alone (Bonferroni's bound).
    hardest, ratio = hardest_to_beat(rounds, best.name, close, 1 - (1 - LEVEL) / len(finalists))
    verdict = Verdict(
        status=Status.of(ratio),
        against=hardest,
        ratio=ratio,
        defaults={c.name: found for c in defaults if (found := rounds.interval(best.name, c.name))},
        notes=tuple(map(session.shown, _notes(rounds, best.name, close, cut=cut))),
    )
    if null:
        verdict = with_null_control(verdict, null, rounds.interval(null.name, close[0]))
    return _answer(session, verdict, best, contenders[close.index(hardest)], rounds)


def _why_no_verdict(rounds: Rounds, name: str, baseline: str, *, cut: bool) -> str:
    """Return why a placement cannot be the answer, however fast it was; empty where it can."""
    failures = rounds.failures(name)
    usual = _usual_failure([*rounds.of(name), *failures] if failures else rounds.failures(baseline))
    if rounds.is_wrong(name):
        return f"the outputs of the best placement were too far off in the final comparison{usual}"
    if rounds.interval(name, baseline) is not None:
        return ""
    return f"the final comparison {_TOO_SHORT if cut and not rounds.failed else _TOO_FAULTY}{usual}"


def _notes(rounds: Rounds, name: str, others: Sequence[str], *, cut: bool) -> Iterator[str]:
    if cut:
        yield f"the time sufficed for {len(rounds)} rounds of the final comparison"
    if rounds.is_unstable(name, others, 0 if cut else rounds.planned):  # there was no time to measure it again
        worst, low, high = rounds.most_unstable([name, *others])
        which = "the placement" if worst == name else worst
        yield f"{which} is unstable: {short_ms(low)} to {short_ms(high)} ms in {len(rounds)} processes"


def _answer(session: Session, verdict: Verdict, best: Candidate, against: Baseline, rounds: Rounds) -> FinalComparison:
    faster = verdict.status == Status.FASTER
    placement = best.placement if faster else against.placement
    assert placement is not None
    origin = session.config.search.placer if faster else against.name
    return FinalComparison(verdict, placement, origin, rounds, best)


def _baseline_answer(baseline: Baseline, note: str, failed: Collection[str]) -> FinalComparison:
    assert baseline.placement is not None
    verdict = Verdict(Status.BASELINE, baseline.name, notes=(note,))
    return FinalComparison(verdict, baseline.placement, baseline.name, failed=failed)
