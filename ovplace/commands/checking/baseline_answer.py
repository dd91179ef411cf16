"""Whether an answer that is a baseline still holds: neither another one nor what lost to it is faster now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ovplace.core.measurement import Candidate, Measurement
from ovplace.core.result.labels import ratio_text
from ovplace.core.verdict import Status
from ovplace.search.comparison.final_comparison import FinalComparison
from ovplace.search.comparison.judgement import CLOSE_RATIO
from ovplace.search.comparison.measure_rounds import measure_rounds
from ovplace.search.comparison.rounds import MIN_ROUNDS, Rounds
from ovplace.session.baselines import Baseline, distinct_answers
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.events import Listener
from ovplace.session.measurer import Measurer


@dataclass(frozen=True)
class BaselineAnswer:
    """An answer that is a baseline, and what it has to be as fast as.

    Attributes:
        answer: the baseline; it works.
        baselines: all of them, measured.
        comparison: of the best of them with the placement that lost to the answer.
    """

    answer: Baseline
    baselines: Sequence[Baseline]
    comparison: FinalComparison

    def rounds(self, measurer: Measurer, listener: Listener) -> Rounds:
        """Return the rounds that the answer took part in: the comparison's, or new ones where that left it out.

        It is left out where another baseline seems much faster, by one figure that may be luck.

        Args:
            measurer: measures them.
            listener: is called with each step.

        Raises:
            TimeIsUpError: there is no time for as many rounds as an interval needs.
        """
        if self.comparison.rounds.of(self.answer.name):
            return self.comparison.rounds
        rivals = self._rivals()
        if not rivals:
            return Rounds()
        entrants = [(self.answer.candidate, self.answer.measurement), *rivals]
        names = [rival.name for rival, _ in rivals]
        rounds, cut = measure_rounds(measurer, entrants, names, [self.answer.name], listener)
        if cut and len(rounds) < MIN_ROUNDS:
            raise TimeIsUpError
        return rounds

    def problem(self, rounds: Rounds) -> str:
        """Return why the answer does not hold, by the rounds that it took part in; empty where it does."""
        verdict = self.comparison.verdict
        if rounds is self.comparison.rounds and verdict.status == Status.FASTER and verdict.ratio:
            return f"the placement that lost to it is faster than {verdict.against}: {ratio_text(verdict.ratio)}"
        rivals = {other.name: other.name for other in self._others()}
        if self.comparison.found:
            rivals[self.comparison.found.name] = "the placement that lost to it"
        for name, text in rivals.items():
            if (ratio := rounds.interval(self.answer.name, name)) and ratio.low > 1:
                return f"it is slower than {text}: {ratio_text(ratio)}"
        return ""

    def _rivals(self) -> list[tuple[Candidate, Measurement]]:
        """Return the baselines that seem faster, the fastest first, and the placement if it is faster than those.

        Each has its last measurement.
        """
        found, verdict = self.comparison.found, self.comparison.verdict
        others = sorted(self._others(), key=lambda other: other.ratio)
        faster = [(b.candidate, b.measurement) for b in others if self.answer.ratio > CLOSE_RATIO * b.ratio]
        return [*faster, *([(found, self.comparison.best[-1])] if found and verdict.status == Status.FASTER else [])]

    def _others(self) -> list[Baseline]:
        """Return the baselines that are another answer."""
        return distinct_answers((self.answer, *self.baselines))[1:]
