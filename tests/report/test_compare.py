"""Several runs on one page."""

from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.report.compare import Comparison, row_of
from ovplace.report.page import comparison_html
from ovplace.store.run_folder import RunFolder
from ovplace.testing.reports import evidence
from ovplace.testing.results import device_summary


def renamed(of, name):
    return replace(of, run=replace(of.run, folder=RunFolder(Path(name))))


def test_each_run_has_its_row_with_its_own_reference():
    slower = evidence(verdict=Verdict(Status.BASELINE, "GPU", Interval(1.2, 1.1, 1.3)))
    rows = [row_of(renamed(evidence(), "a")), row_of(renamed(slower, "b"))]
    assert [(row.name, row.against, row.ratio[0]) for row in rows] == [("a", "CPU", 0.47), ("b", "GPU", 1.2)]
    assert [row.verdict.status for row in rows] == ["faster", "baseline"]
    assert rows[0].best == pytest.approx((1.2, 1.1, 1.0, 0.9, 0.8, 0.8))


def test_each_interval_has_its_own_level():
    twice = evidence(verdict=Verdict(Status.FASTER, "CPU", Interval(0.5, 0.4, 0.6, 0.99)))
    rows = tuple(row_of(of) for of in (evidence(), twice, evidence(verdict=Verdict(Status.BASELINE, "CPU"))))
    assert [row.interval for row in rows] == ["[0.460, 0.500] (98 %)", "[0.400, 0.600] (99 %)", "-"]
    page = comparison_html(Comparison(rows))
    assert "[0.400, 0.600] (99 %)" in page
    assert '<th class="n">98 % interval' not in page


def test_the_page_names_the_runs_as_text_and_says_what_is_emulated():
    of = evidence(devices=(device_summary("GPU", emulated=True), device_summary("CPU")))
    page = comparison_html(Comparison((row_of(renamed(of, "<b>runs</b>")), row_of(renamed(of, "other")))))
    assert "&lt;b&gt;runs&lt;/b&gt;" in page
    assert "<b>runs</b>" not in page
    assert "3 on GPU (emulated)" in page
    assert "2 runs side by side" in page
