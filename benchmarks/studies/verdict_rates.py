"""Error rates of the verdict: how often what is not faster is called faster, and what is faster is found.

Simulated final comparisons by the rules of a run: which baselines are close, when rounds end, who stands for all, what
the interval says. `truth` is the placement's latency over the fastest baseline's, `baselines` are theirs likewise.
`noise`: *desktop* is that of the simulated machines, with a correlation of 0.5 from one inference to the next; *3 %*
the same with 3 % from compilation to compilation; *rough* has 5 % of that and of each inference, a correlation of 0.8,
a drift of 10 %, and 5 % of all inferences disturbed. `race of`: number of placements, all as fast, that a race chose
from; `searched`: the median ratio that the search had found of the winner. `rounds`: planned; `measured`: on average.
`faster at L`: share called faster where the interval holds the truth with probability L; `slower at L` likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.config.schema import ComparisonConfig
from ovplace.core.measurement import Measurement, MeasureSpec
from ovplace.core.verdict import Status
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.comparison.judgement import close_to_best, hardest_to_beat, rounds_wanted
from ovplace.search.comparison.race import Field, race
from ovplace.search.comparison.rounds import Rounds
from ovplace.seeds import generator
from ovplace.session.measurer import latency_ratio
from ovplace.simulation.noise import Noise, RequestNoise

COMPARISON = ComparisonConfig()
SPEC = MeasureSpec(blocks=COMPARISON.blocks, repeats=COMPARISON.repeats, min_time_ms=COMPARISON.min_time_ms)
FASTEST_MS = 10.0
NAME = "placement"

DESKTOP = Noise(0.02, 0.5, 0.02, drift=0.03, drift_period_s=20.0, outlier_probability=0.01)
NOISES = {
    "none": Noise(),
    "desktop": DESKTOP,
    "3 %": replace(DESKTOP, compilation_sigma=0.03),
    "rough": Noise(0.05, 0.8, 0.05, drift=0.1, drift_period_s=20.0, outlier_probability=0.05),
}


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        equal: comparisons of what is equally fast, for each row.
        gains: comparisons of what is faster, for each row.
        raced: comparisons after a race, for each row.
        rounds: numbers of rounds to find a gain in.
        levels: probabilities that the interval holds the truth.
        real: comparisons of the CPU with an identical alias of itself, on this machine.
    """

    equal: int = 10_000
    gains: int = 1_000
    raced: int = 1_000
    rounds: tuple[int, ...] = (6, 8, 12, 20)
    levels: tuple[float, ...] = (0.95, 0.98)
    real: int = 0


SHORT = Options(equal=10, gains=5, raced=2, rounds=(6,))


@dataclass(frozen=True)
class Case:
    """What is compared.

    Attributes:
        truth: latency of the placement over the fastest baseline's.
        baselines: latencies of the baselines over the fastest one's.
        noise: a name of `NOISES`.
        rounds: planned.
        candidates: number of placements that the race chooses from.
    """

    truth: float = 1.0
    baselines: tuple[float, ...] = (1.0,)
    noise: str = "3 %"
    rounds: int = COMPARISON.rounds
    candidates: int = 1


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each case."""
    for case, count in _cases(options):
        if count:
            yield case_row(case, count, options.levels)
    if options.real:
        yield _real_row(options)


def _cases(options: Options) -> Iterator[tuple[Case, int]]:
    for noise in ("desktop", "3 %", "rough"):
        yield Case(noise=noise), options.equal
    for second in (1.0, 1.1):
        yield Case(baselines=(1.0, second)), options.equal
    yield Case(candidates=60), options.raced
    for gain in (0.02, 0.05, 0.1):
        for rounds in options.rounds:
            yield Case(1 - gain, rounds=rounds), options.gains


def case_row(case: Case, count: int, levels: Sequence[float]) -> Row:
    """Return the row of a case.

    Args:
        case: what is compared.
        count: number of comparisons.
        levels: probabilities that the interval holds the truth.
    """
    searched, found = zip(*(_simulated(case, seed) for seed in range(count)), strict=True)
    return {
        "truth": case.truth,
        "baselines": ", ".join(f"{b:g}" for b in case.baselines),
        "noise": case.noise,
        "race of": str(case.candidates) if case.candidates > 1 else "",
        "searched": f"{np.median(searched):.3f}" if case.candidates > 1 else "",
        "rounds": case.rounds,
        "comparisons": count,
        **_shares(found, levels),
    }


Compared = tuple[Rounds, Sequence[str]]
"""The rounds of a comparison, and the names of the baselines that the placement was to beat."""


def _shares(found: Sequence[Compared], levels: Sequence[float]) -> Row:
    shares: dict[str, object] = {"measured": float(np.mean([len(rounds) for rounds, _ in found]))}
    for level in levels:
        statuses = [Status.of(hardest_to_beat(rounds, NAME, close, level)[1]) for rounds, close in found]
        for word, status in (("faster", Status.FASTER), ("slower", Status.BASELINE)):
            shares[f"{word} at {100 * level:g} %"] = f"{np.mean([s == status for s in statuses]):.2%}"
    return shares


def _simulated(case: Case, seed: int) -> tuple[float, Compared]:
    """Return the ratio that the search measured, and the final comparison."""
    machine = _Machine(NOISES[case.noise], generator(seed, "benchmark", case.noise, case.rounds, case.candidates))
    searched = _race(machine, case, seed) if case.candidates > 1 else np.nan
    close = close_to_best([1.0, *(machine.ratio(b, 1.0) for b in case.baselines[1:])])
    latencies = [case.truth, *(case.baselines[i] for i in close)]
    names = [f"baseline {i}" for i in close]
    return searched, (_rounds(lambda: machine.measure(latencies), names, case.rounds), names)


def _rounds(measure: Callable[[], Sequence[Measurement]], close: Sequence[str], planned: int) -> Rounds:
    rounds, done, wanted = Rounds(), 0, planned
    while done < wanted:
        round_ = dict(zip([NAME, *close], measure(), strict=True))
        done += 1
        rounds = Rounds((*rounds.measured, round_), min(done, planned))
        wanted = rounds_wanted(rounds, NAME, close, done, planned)
    return rounds


def _race(machine: _Machine, case: Case, seed: int) -> float:
    """Return the ratio that the search measured of the placement which the race chooses; all are as fast."""
    ratios = np.array([machine.ratio(case.truth, 1.0) for _ in range(case.candidates)])

    def heat(which: IntArray, _: int) -> FloatArray:
        return np.array([m.median_ms for m in machine.measure([case.truth] * len(which))])

    *_, end = race(Field(ratios, seed=seed, to_beat=1.0), heat, COMPARISON.finalists, COMPARISON.race)
    return float(ratios[end.order[0]])


class _Machine:
    """Measures what has a latency, each time in a new process."""

    def __init__(self, noise: Noise, rng: np.random.Generator) -> None:
        self._noise, self._rng = noise, rng

    def measure(self, latencies: Sequence[float], spec: MeasureSpec = SPEC) -> list[Measurement]:
        taken = RequestNoise(self._noise, self._rng).in_turns_ms([FASTEST_MS * one for one in latencies], spec)
        return [Measurement(tuple(np.concatenate(b).tolist()), tuple(map(len, b))) for b in taken]

    def ratio(self, latency: float, reference: float) -> float:
        return latency_ratio(*self.measure([latency, reference], MeasureSpec()))


def _real_row(options: Options) -> Row:
    """Return how often the CPU is called faster than itself."""
    with measured_session("demo", "cpu+cpu") as opened:
        pool = opened.measurer.session.pool
        sides = [b.candidate for b in opened.baselines if b.competes and b.placement and b.placement.is_uniform][:2]

        def measure() -> list[Measurement]:
            pool.renew()
            return pool.measure(sides, SPEC)

        found = [(_rounds(measure, ["itself"], COMPARISON.rounds), ["itself"]) for _ in range(options.real)]
    fixed = {"truth": 1.0, "baselines": "1", "noise": "this machine", "rounds": COMPARISON.rounds}
    return {**fixed, "comparisons": options.real, **_shares(found, options.levels)}
