"""The report of a run as plain data: each section a dataclass, without a browser."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ovplace.report.evidence import Evidence, read_evidence
from ovplace.report.numbers import short
from ovplace.report.sections.comparison import ComparisonSection, comparison_section
from ovplace.report.sections.facts import FactsSection, facts_section
from ovplace.report.sections.graph import GraphSection, graph_section
from ovplace.report.sections.history import HistorySection, history_section
from ovplace.report.sections.prediction import PredictionSection, prediction_section
from ovplace.report.sections.timeline import TimelineSection, timeline_section
from ovplace.report.sections.verdict import VerdictSection, verdict_section
from ovplace.report.sections.why import WhySection, why_section


@dataclass(frozen=True)
class Report:
    """What the page of a run shows; a section is None where the run has nothing for it."""

    title: str
    verdict: VerdictSection
    comparison: ComparisonSection
    history: HistorySection
    graph: GraphSection
    timeline: TimelineSection
    why: WhySection | None
    prediction: PredictionSection | None
    facts: FactsSection

    def to_data(self) -> dict[str, Any]:
        """Return plain data, numbers of five significant digits: what the page draws from."""
        found: dict[str, Any] = short(asdict(self))
        return found


def collect(folder: Path) -> Report:
    """Return the report of a finished run.

    Raises:
        PlacementError: there is no finished run.
        StoreError: its files are damaged, or of a version that groups otherwise.
    """
    return report_of(read_evidence(folder))


def report_of(evidence: Evidence) -> Report:
    """Return the report of a run that has been read."""
    return Report(
        title=Path(evidence.result.model.path).stem,
        verdict=verdict_section(evidence),
        comparison=comparison_section(evidence),
        history=history_section(evidence),
        graph=graph_section(evidence),
        timeline=timeline_section(evidence),
        why=why_section(evidence),
        prediction=prediction_section(evidence),
        facts=facts_section(evidence),
    )
