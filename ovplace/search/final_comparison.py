"""The final comparison: the best placement against the best baselines, in turns, in fresh processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ovplace.config.schema import ComparisonConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec, Trial
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval, ratio_interval
from ovplace.core.verdict import Status, Verdict
from ovplace.search.finalists import choose
from ovplace.search.rounds import measured_afresh
from ovplace.session.baselines import Baseline
from ovplace.session.deadline import Phase, TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer, latency_ratio
from ovplace.session.session import Session

PHASE = "final comparison"
"""Name of this phase in the progress of a run."""

_MIN_ROUNDS = 2

_TOO_SHORT = "had no time for two rounds; give more with --time"
_TOO_FAULTY = "failed too often to be judged"

LOST_RATIO, _LOST_ROUNDS = 1.5, 3
"""A placement that took this many times as long as the baseline in each of so many rounds has lost; further rounds,
each of which compiles it anew, would take the user's time for a second digit. It costs no gain: where half of six
rounds are that slow, no interval lies below 1."""

CLOSE_RATIO = 1.15
"""Baselines whose latency is at most this many times the best one's are compared, too. One noisy figure each cannot
say which of them is the best: with 10 % between two of them and 3 to 5 % of noise from compilation to compilation, a
placement as fast as the better one was called faster in 5 to 7 % of simulated runs, because the worse one stood for
both."""


@dataclass(frozen=True)
class Round:
    """One round of the final comparison, which has a process of its own.

    Attributes:
        measured: each candidate's measurement, by its name.
    """

    measured: Mapping[str, Measurement]


@dataclass(frozen=True)
class FinalComparison:
    """The outcome of the final comparison.

    Attributes:
        verdict: whether the best placement is faster than the best baseline.
        placement: the answer: the best placement where it is faster, else the best baseline's.
        origin: the answer's placer, or the baseline's name.
        best: the best placement's measurements, one a round; empty where nothing was compared.
        against: the baseline's measurements, one a round.
        found: the best placement; None where nothing was compared.
    """

    verdict: Verdict
    placement: Placement
    origin: str
    best: tuple[Measurement, ...] = ()
    against: tuple[Measurement, ...] = ()
    found: Placement | None = None


def decide(
    measurer: Measurer,
    baselines: Sequence[Baseline],
    trials: Sequence[Trial],
    listener: Listener,
    costs: CostTable | None = None,
) -> FinalComparison:
    """Choose the best placement and the best baselines, compare them, and say which is the answer.

    Args:
        measurer: measures and stores the rounds.
        baselines: all baselines of the run, measured.
        trials: all trials of the search.
        listener: is called with each step.
        costs: of the model's groups; None where the search had none.

    Returns:
        The answer, with the verdict and the measurements behind it.
    """
    session = measurer.session
    contenders = _contenders(baselines)
    others = _distinct(trials, baselines)
    best = choose(measurer, [trial for trial in others if np.isfinite(trial.ratio)], costs, listener)
    if best is None:
        return _baseline_answer(contenders[0], _why_none(session, others))
    return _compare(measurer, best, contenders, baselines, listener)


def _why_none(session: Session, others: Sequence[Trial]) -> str:
    if not session.problem.is_divisible:
        return "there was nothing else to try"
    return f"no other placement {'worked' if others else 'was tried'}"


def _contenders(baselines: Sequence[Baseline]) -> list[Baseline]:
    """Return the baselines that may be the best one, the most likely first."""
    distinct: dict[str, Baseline] = {}
    for baseline in baselines:
        # HETERO's automatic choice is often one device; then that device alone is the plainer name of the same answer.
        if baseline.competes and baseline.measurement.ok and baseline.placement:
            distinct.setdefault(baseline.placement.hash, baseline)
    best = min(baseline.ratio for baseline in distinct.values())
    return sorted((b for b in distinct.values() if b.ratio <= CLOSE_RATIO * best), key=lambda b: b.ratio)


def _distinct(trials: Sequence[Trial], baselines: Sequence[Baseline]) -> list[Trial]:
    """Return the trials that are not baselines anyway, one a placement, the best first."""
    known = {b.placement.hash for b in baselines if b.competes and b.placement}
    distinct: dict[str, Trial] = {}
    for trial in sorted(trials, key=lambda t: t.ratio):
        if trial.placement.hash not in known:
            distinct.setdefault(trial.placement.hash, trial)
    return list(distinct.values())


def _compare(
    measurer: Measurer,
    best: Candidate,
    contenders: Sequence[Baseline],
    baselines: Sequence[Baseline],
    listener: Listener,
) -> FinalComparison:
    session = measurer.session
    null = _null_candidate(session, best, contenders[0])
    defaults = [b.candidate for b in baselines if not b.competes and b.candidate.placement and b.measurement.ok]
    candidates = [best, *(baseline.candidate for baseline in contenders), *([null] if null else []), *defaults]
    rounds, cut = _rounds(measurer, candidates, listener)
    if len(rounds) < _MIN_ROUNDS:
        return _baseline_answer(contenders[0], f"the final comparison {_TOO_SHORT if cut else _TOO_FAULTY}")
    ratios = {c.name: interval for c in candidates if (interval := _interval(rounds, best.name, c.name))}
    # Faster means faster than each of them: the baseline that is hardest to beat stands for all.
    against = max((b for b in contenders if b.name in ratios), key=lambda b: ratios[b.name].high)
    verdict = Verdict(
        status=Status.of(ratios[against.name]),
        against=against.name,
        ratio=ratios[against.name],
        null_control=_interval(rounds, null.name, contenders[0].name) if null else None,
        defaults={c.name: ratios[c.name] for c in defaults if c.name in ratios},
        notes=(f"the time sufficed for {len(rounds)} rounds of the final comparison",) if cut else (),
    )
    sides = [tuple(r.measured[name] for r in rounds) for name in (best.name, against.name)]
    return _answer(session, _with_null_note(verdict), best, against, *sides)


def _answer(
    session: Session,
    verdict: Verdict,
    best: Candidate,
    against: Baseline,
    best_measured: tuple[Measurement, ...],
    against_measured: tuple[Measurement, ...],
) -> FinalComparison:
    faster = verdict.status == Status.FASTER
    placement = best.placement if faster else against.placement
    assert placement is not None
    origin = session.config.search.placer if faster else against.name
    return FinalComparison(verdict, placement, origin, best_measured, against_measured, best.placement)


def _baseline_answer(baseline: Baseline, note: str) -> FinalComparison:
    assert baseline.placement is not None
    return FinalComparison(Verdict(Status.BASELINE, baseline.name, notes=(note,)), baseline.placement, baseline.name)


def _rounds(measurer: Measurer, candidates: Sequence[Candidate], listener: Listener) -> tuple[list[Round], bool]:
    """Measure all candidates in turns, in one fresh process a round, through the store.

    Returns:
        The rounds in which the first two candidates worked; whether the time of the call cut them short.
    """
    config = measurer.session.config.comparison
    spec = _spec(measurer.session, config, len(candidates))
    rounds: list[Round] = []
    clock = measurer.time.clock
    measurer.enter(Phase.COMPARISON)
    for number in range(config.rounds):
        start = clock()
        listener(Progress(PHASE, number, config.rounds, f"{candidates[0].name} against {candidates[1].name}"))
        try:
            measured = measured_afresh(measurer, candidates, spec, f"round {number}")
        except TimeIsUpError:
            return rounds, True
        if all(m.ok for m in measured[:2]):
            rounds.append(Round({c.name: m for c, m in zip(candidates, measured, strict=True)}))
        if _is_lost(rounds, candidates[0].name, candidates[1].name):
            break
        # The second round may end late: without it there is no verdict. A further one has to fit.
        measurer.deadline = measurer.deadline.with_grace(clock() - start)
        if len(rounds) >= _MIN_ROUNDS and number + 1 < config.rounds and measurer.deadline.left_s < clock() - start:
            return rounds, True
    listener(Progress(PHASE, config.rounds, config.rounds, "done"))
    return rounds, False


def _is_lost(rounds: Sequence[Round], name: str, other: str) -> bool:
    slower = [latency_ratio(r.measured[name], r.measured[other]) > LOST_RATIO for r in rounds]
    return len(slower) >= _LOST_ROUNDS and all(slower)


def _spec(session: Session, comparison: ComparisonConfig, candidates: int) -> MeasureSpec:
    return replace(
        session.config.measure,
        blocks=comparison.blocks,
        repeats=comparison.repeats,
        min_time_ms=comparison.min_time_ms,
        deadline_s=session.config.measure.deadline_s * candidates,
    )


def _null_candidate(session: Session, best: Candidate, against: Baseline) -> Candidate | None:
    """Return the best placement's cut between two identical aliases of the baseline's device, if there can be one."""
    placement = best.placement
    base = against.placement.used[0] if against.placement and against.placement.is_uniform else ""
    if (
        not session.config.comparison.null_control
        or placement is None
        or placement.is_uniform
        or base not in session.nulls
    ):
        return None
    home = placement.devices.index(base) if base in placement.used else int(placement.device_of[0])
    moved = (placement.device_of != home).astype(np.int64)
    return Candidate("null control", Placement(moved, (base, session.nulls[base].name)))


def _interval(rounds: Sequence[Round], name: str, other: str) -> Interval | None:
    pairs = [(r.measured[name], r.measured[other]) for r in rounds if r.measured[name].ok and r.measured[other].ok]
    if len(pairs) < _MIN_ROUNDS:
        return None
    shared = [min(len(a.blocks), len(b.blocks)) for a, b in pairs]
    numerator = [a.block_medians_ms[:n] for (a, _), n in zip(pairs, shared, strict=True)]
    denominator = [b.block_medians_ms[:n] for (_, b), n in zip(pairs, shared, strict=True)]
    return ratio_interval(numerator, denominator)


def _with_null_note(verdict: Verdict) -> Verdict:
    null = verdict.null_control
    if verdict.status != Status.FASTER or null is None or null.high >= 1:
        return verdict
    note = (
        "cutting the model at the same places without changing the device also changes the latency, "
        f"to {null.value:.3f}; that part of the gain does not come from the second device"
    )
    return replace(verdict, notes=(*verdict.notes, note))
