"""The choice among the placements of a search: a race, measured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Measurement, Trial
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.comparison.afresh import measured_afresh, stored_afresh
from ovplace.search.comparison.disturbance import disturbances, usual_ms
from ovplace.search.comparison.race import Field, Standing, race
from ovplace.search.staging import in_stages, note_agreement
from ovplace.session.deadline import Phase, TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.fitting import measuring_s
from ovplace.session.measurer import Measurer
from ovplace.session.session import Session

LIMIT = 200
"""Placements that are raced, those with the lowest ratios: what is believed takes time cubic in their number."""

_REFERENCE = 1.0
"""Ratio of the reference, the single device that every placement of the search was measured beside."""

_HEAT = "heat"


@dataclass(frozen=True)
class Raced:
    """The outcome of a race.

    Attributes:
        best: the placement that is believed to be the fastest; None if none works again.
        failures: of the placements that were raced.
    """

    best: Candidate | None
    failures: Sequence[Measurement] = ()


def choose(measurer: Measurer, trials: Sequence[Trial], costs: CostTable | None, listener: Listener) -> Raced:
    """Return the placement that is believed to be the fastest after a race.

    Args:
        measurer: measures and stores the heats.
        trials: successful trials of different placements, the lowest ratio first.
        costs: costs of the model's groups; None where the search had none.
        listener: is called with each step.
    """
    if not trials:
        return Raced(None)
    racers, heats = _field(measurer.session, trials, costs), _Heats(measurer, trials[:LIMIT])
    measurer.enter(Phase.FINALISTS)
    order = _order(racers, heats, listener)
    if not len(order):
        return Raced(None, heats.failures)
    best = int(order[0])
    if best in heats.raced:  # perhaps in a later heat; otherwise HETERO has not compiled it, which may take long
        heats.compare_stages([best])
    return Raced(heats.trials[best].candidate, heats.failures)


def _order(racers: Field, heats: _Heats, listener: Listener) -> IntArray:
    """Return the placements after as much of a race as there is time for, the first to the last; none if none works."""
    config, now = heats.measurer.session.config.comparison, Standing(np.zeros(0, dtype=np.int64))
    with suppress(TimeIsUpError):  # what is believed by then has to do
        for now in race(racers, heats.measure, config.finalists, config.race):
            listener(Progress(Phase.FINALISTS, len(heats.raced), config.race, _in_words(now, heats.trials)))
    return now.order


def _in_words(now: Standing, trials: Sequence[Trial]) -> str:
    if not len(now.order):
        return "none works"
    return f"{trials[now.order[0]].candidate.name} leads, {100 * now.sure:.0f} % sure"


@dataclass
class _Heats:
    """Measures the heats of a race.

    Attributes:
        measurer: measures and stores.
        trials: of the placements, `[P]`.
        raced: numbers of the placements that were measured.
        failures: of these.
    """

    measurer: Measurer
    trials: Sequence[Trial]
    raced: list[int] = field(default_factory=list)
    failures: list[Measurement] = field(default_factory=list)

    def measure(self, which: IntArray, number: int) -> FloatArray:
        """Return the latencies in ms of placements in the heat of this number; infinite for failures.

        Raises:
            TimeIsUpError: there is no time for it.
        """
        measured = _heat(self.measurer, [self.trials[i] for i in which], number)
        self.raced.extend(which.tolist())
        self.failures.extend(m for m in measured if not m.ok)
        if number == 0:
            self.compare_stages(which.tolist())
        return np.array([m.median_ms for m in measured])

    def compare_stages(self, which: Sequence[int]) -> None:
        """Note how long placements take in stages, where there is time; the race goes on without it."""
        with suppress(TimeIsUpError):
            _compare_stages(self.measurer, [self.trials[i] for i in which])


def _check_time(measurer: Measurer, trials: Sequence[Trial]) -> None:
    """Raise `TimeIsUpError` where a heat would not end in time: it would be measured in vain."""
    session = measurer.session
    measuring = sum(measuring_s(trial.measurement, session.config.measure) for trial in trials)
    if measurer.deadline.left_s < session.starting_s + measuring:
        raise TimeIsUpError


def _field(session: Session, trials: Sequence[Trial], costs: CostTable | None) -> Field:
    raced = trials[:LIMIT]  # what is usual comes from all: a slow reference makes a ratio low
    return Field(
        ratios=np.array([trial.ratio for trial in raced]),
        costs=costs,
        device_of=np.stack([session.problem.lower(trial.placement) for trial in raced]) if costs else None,
        seed=session.config.search.seed,
        to_beat=_REFERENCE,
        disturbed=disturbances(trials)[:LIMIT],
        usual_ms=usual_ms(trials),
    )


def _compare_stages(measurer: Measurer, trials: Sequence[Trial]) -> None:
    """Note how long placements that the search ran in stages take so over what they take by HETERO."""
    spec = measurer.session.config.measure
    for trial in trials:
        whole = trial.candidate
        if trial.measurement.stages_ms and measurer.deadline.left_s > measuring_s(trial.measurement, spec):
            pair = measurer.stored_pair(in_stages(whole), whole, spec, check=False)
            note_agreement(measurer.store, {whole.name: pair.ratio})


def _heat(measurer: Measurer, trials: Sequence[Trial], number: int) -> list[Measurement]:
    """Return the measurements of placements; outputs that are too far off are failures.

    Raises:
        TimeIsUpError: it is not stored, and there is no time for it.
    """
    measure = measurer.session.config.measure
    candidates, spec = [t.candidate for t in trials], replace(measure, deadline_s=measure.deadline_s * len(trials))
    measured = stored_afresh(measurer, candidates, spec, _HEAT, number)
    if not measured:
        _check_time(measurer, trials)
        measured = measured_afresh(measurer, candidates, spec, _HEAT, number)
    return [measurer.check_outputs(m) for m in measured]
