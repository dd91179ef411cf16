"""The final comparison: the best placement against the best baseline, in fresh processes, in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ovplace.config.schema import DuelConfig
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec, Trial
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval, ratio_interval
from ovplace.search.verdict import BASELINE, FASTER, Verdict, status_of
from ovplace.session.baselines import ATTEMPTS, Baseline
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer, ratio
from ovplace.session.session import Session
from ovplace.store.run_db import Stored

_MIN_ROUNDS = 2

HOPELESS, _SURE_ROUNDS = 1.5, 3
"""A placement that took this many times as long as the baseline in each of so many rounds has lost; further rounds,
each of which compiles it anew, would take the user's time for a second digit. It costs no gain: where half of six
rounds are that slow, no interval lies below 1."""

CLOSE = 1.15
"""Baselines this near to the best one fight, too. Which of them is the best, one noisy figure each cannot tell: with
10 % between two of them and 3 to 5 % of noise from compilation to compilation, a placement as fast as the better one
was called faster in 5 to 7 % of simulated runs, because the worse one stood for both."""


@dataclass(frozen=True)
class Round:
    """One process's worth of the duel: each candidate's measurement, by name."""

    measured: Mapping[str, Measurement]


@dataclass(frozen=True)
class Duel:
    """What was compared and what came out.

    Attributes:
        verdict: the answer.
        best: the best placement's measurements, one a round; empty without a duel.
        against: the baseline's, one a round.
    """

    verdict: Verdict
    best: tuple[Measurement, ...] = ()
    against: tuple[Measurement, ...] = ()


def decide(measurer: Measurer, baselines: Sequence[Baseline], trials: Sequence[Trial], listener: Listener) -> Duel:
    """Choose the best placement and the best baseline, let them fight, and say which is the answer."""
    session = measurer.session
    rivals = _rivals(baselines)
    others = _others(trials, baselines)
    finalists = [trial for trial in others if trial.measurement.ok][: session.config.duel.finalists]
    champion = _play_off(measurer, finalists, rivals[0], listener)
    if champion is None:
        return Duel(_keep(rivals[0], _why_none(session, others)))
    return _fight(measurer, champion, rivals, baselines, listener)


def _why_none(session: Session, others: Sequence[Trial]) -> str:
    if not session.problem.is_divisible:
        return "there was nothing else to try"
    return f"no other placement {'worked' if others else 'was tried'}"


def _rivals(baselines: Sequence[Baseline]) -> list[Baseline]:
    """Return the baselines that may be the best one, the most likely first."""
    distinct: dict[str, Baseline] = {}
    for baseline in baselines:
        # HETERO's automatic choice is often one device; then that device alone is the plainer name of the same answer.
        if baseline.competes and baseline.measurement.ok and baseline.placement:
            distinct.setdefault(baseline.placement.hash, baseline)
    best = min(baseline.ratio for baseline in distinct.values())
    return sorted((b for b in distinct.values() if b.ratio <= CLOSE * best), key=lambda b: b.ratio)


def _others(trials: Sequence[Trial], baselines: Sequence[Baseline]) -> list[Trial]:
    """Return the trials that are not baselines anyway, one a placement, the best first."""
    known = {b.placement.hash for b in baselines if b.competes and b.placement}
    distinct: dict[str, Trial] = {}
    for trial in sorted(trials, key=lambda t: t.ratio):
        if trial.placement.hash not in known:
            distinct.setdefault(trial.placement.hash, trial)
    return list(distinct.values())


def _play_off(
    measurer: Measurer, finalists: Sequence[Trial], against: Baseline, listener: Listener
) -> Candidate | None:
    """Measure the finalists again: the best of many noisy figures is too good to be true."""
    spec = _spec(measurer.session, measurer.session.config.duel, len(finalists) + 1)
    scored = []
    for i, trial in enumerate(finalists):
        listener(Progress("finalists", i, len(finalists), f"trial {trial.number}"))
        candidate = Candidate(f"trial {trial.number}", trial.placement)
        scored.append((measurer.beside(candidate, against.candidate, spec, ATTEMPTS).ratio, i, candidate))
    best = min(scored, default=None)
    return best[2] if best and np.isfinite(best[0]) else None


def _fight(
    measurer: Measurer,
    champion: Candidate,
    rivals: Sequence[Baseline],
    baselines: Sequence[Baseline],
    listener: Listener,
) -> Duel:
    session = measurer.session
    null = _null_candidate(session, champion, rivals[0])
    defaults = [b.candidate for b in baselines if not b.competes and b.candidate.placement and b.measurement.ok]
    candidates = [champion, *(rival.candidate for rival in rivals), *([null] if null else []), *defaults]
    rounds = _rounds(measurer, candidates, listener)
    if len(rounds) < _MIN_ROUNDS:
        return Duel(_keep(rivals[0], "the final comparison failed too often to be judged"))
    intervals = {c.name: interval for c in candidates if (interval := _interval(rounds, champion.name, c.name))}
    # Faster is what is faster than each of them: the one that is hardest to beat stands for all.
    against = max((r for r in rivals if r.name in intervals), key=lambda r: intervals[r.name].high)
    verdict = _verdict(session, champion, against, intervals)
    if null:
        verdict = replace(verdict, null_control=_interval(rounds, null.name, rivals[0].name))
    verdict = replace(verdict, defaults={c.name: intervals[c.name] for c in defaults if c.name in intervals})
    sides = [tuple(r.measured[name] for r in rounds) for name in (champion.name, against.name)]
    return Duel(_with_notes(verdict), *sides)


def _rounds(measurer: Measurer, candidates: Sequence[Candidate], listener: Listener) -> list[Round]:
    """Measure all candidates in turns, in one fresh process a round, through the store."""
    config = measurer.session.config.duel
    spec = _spec(measurer.session, config, len(candidates))
    rounds = []
    for number in range(config.rounds):
        listener(Progress("duel", number, config.rounds, f"{candidates[0].name} against {candidates[1].name}"))
        measured = _round(measurer, candidates, spec, number)
        if all(m.ok for m in measured[:2]):
            rounds.append(Round({c.name: m for c, m in zip(candidates, measured, strict=True)}))
        if _is_lost(rounds, candidates[0].name, candidates[1].name):
            break
    listener(Progress("duel", config.rounds, config.rounds, "done"))
    return rounds


def _is_lost(rounds: Sequence[Round], name: str, other: str) -> bool:
    slower = [ratio(r.measured[name], r.measured[other]) > HOPELESS for r in rounds]
    return len(slower) >= _SURE_ROUNDS and all(slower)


def _round(measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec, number: int) -> list[Measurement]:
    # The round is part of the key through a candidate-free marker: each round is a measurement of its own.
    keys = [f"{measurer.key(candidate, candidates, spec)} round {number}" for candidate in candidates]
    stored = [measurer.store.find(key) for key in keys]
    if all(stored):
        return [s.measurement for s in stored if s]
    measurer.session.pool.recycle()
    measured = measurer.repeated(candidates, spec, ATTEMPTS)
    for key, candidate, m in zip(keys, candidates, measured, strict=True):
        measurer.store.keep(key, candidate.name, Stored(m, ratio(m, measured[1])))
    return measured


def _spec(session: Session, duel: DuelConfig, candidates: int) -> MeasureSpec:
    return replace(
        session.config.measure,
        blocks=duel.blocks,
        repeats=duel.repeats,
        min_time_ms=duel.min_time_ms,
        deadline_s=session.config.measure.deadline_s * candidates,
    )


def _null_candidate(session: Session, champion: Candidate, against: Baseline) -> Candidate | None:
    """Return the champion's cut between two identical aliases of the baseline's device, if there can be one."""
    placement = champion.placement
    base = against.placement.used[0] if against.placement and against.placement.is_uniform else ""
    if not session.config.duel.null_control or placement is None or placement.is_uniform or base not in session.nulls:
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


def _verdict(session: Session, champion: Candidate, against: Baseline, intervals: Mapping[str, Interval]) -> Verdict:
    found = intervals[against.candidate.name]
    status = status_of(found)
    assert champion.placement is not None
    if status == FASTER:
        return Verdict(status, against.name, champion.placement, session.config.search.placer, found)
    return replace(_keep(against, ""), status=status, ratio=found)


def _keep(against: Baseline, note: str) -> Verdict:
    assert against.placement is not None
    return Verdict(BASELINE, against.name, against.placement, against.name, notes=(note,) if note else ())


def _with_notes(verdict: Verdict) -> Verdict:
    null = verdict.null_control
    if verdict.status != FASTER or null is None or null.high >= 1:
        return verdict
    note = (
        "cutting the model at the same places without changing the device also changes the latency, "
        f"to {null.value:.3f}; that part of the gain does not come from the second device"
    )
    return replace(verdict, notes=(*verdict.notes, note))
