"""The numbers of the table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ovplace.config.schema import RunConfig
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.experiments.cell_state import CellState
from ovplace.experiments.grid import Cell
from ovplace.experiments.markdown import failures, header, markdown, tables
from ovplace.experiments.score import RunScore, measured_score
from ovplace.experiments.summary import ScoredRun, comparison_rows, mean_summary, ratio_summary
from ovplace.testing.results import baseline_summary, device_summary, run_result

SINGLE_MS = 10.0


def state(variant, seed, latency_ms=None, error="", simulated=True, info=None):
    cell = Cell(variant, "net", "box", seed, Path("x"), RunConfig(), simulated)
    if latency_ms is None:
        return CellState(cell, error=error)
    made = run_result()
    result = replace(
        made,
        verdict=replace(made.verdict, status=Status.FASTER if latency_ms < SINGLE_MS else Status.SAME),
        search=replace(made.search, measured=10 + seed, placer_info=info or {}),
        devices=(device_summary("GPU", emulated=True), device_summary("CPU")),
    )
    score = RunScore(latency_ms, latency_ms / SINGLE_MS, latency_ms / 5, noise_free=simulated)
    return CellState(cell, ScoredRun(score, result))


def test_a_mean_is_students():
    values = np.array([3.0, 5.0, 4.0, 8.0])
    found, wanted = mean_summary(values), stats.ttest_1samp(values, 0).confidence_interval()
    assert found["value"] == values.mean()
    assert found["ci95"] == pytest.approx([wanted.low, wanted.high])
    assert mean_summary([2.0]) == {"value": 2.0, "ci95": None}
    assert mean_summary([]) is None


def test_a_ratio_is_that_of_pairs():
    a, b = np.array([1.0, 2.0, 5.0]), np.array([2.0, 3.0, 11.0])
    logs = np.log(a / b)
    found, wanted = ratio_summary(list(zip(a, b, strict=True))), stats.ttest_1samp(logs, 0).confidence_interval()
    assert found["value"] == pytest.approx(np.exp(logs.mean()))
    assert np.log(found["ci95"]) == pytest.approx([wanted.low, wanted.high])
    assert ratio_summary([(1.0, 2.0)]) == {"value": 0.5, "ci95": None}
    assert ratio_summary([]) is None


def test_variants_are_compared_by_seed():
    """Seeds that one side lacks do not count: with them, the ratio would be another one."""
    full = [state("full", 0, 4.0), state("full", 1, 8.0), state("full", 2)]
    other = [state("other", 0), state("other", 1, 9.0), state("other", 2, 100.0)]
    first, second = comparison_rows([*full, *other])
    assert first["to_full"] is None
    assert second["to_full"] == {"value": pytest.approx(9 / 8), "ci95": None}
    assert second["to_single"]["value"] == pytest.approx(np.sqrt(0.9 * 10.0))
    assert first["latency_ms"]["value"] == 6.0
    assert (first["finished"], first["runs"], first["faster"], second["faster"]) == (2, 3, 2, 1)
    assert first["measured"] == 10.5


def test_constant_ratios_have_no_width():
    states = [
        state(name, seed, ms * factor)
        for name, factor in (("full", 1), ("half", 0.5))
        for seed, ms in enumerate((4, 7, 9))
    ]
    found = comparison_rows(states)[1]["to_full"]
    assert found["value"] == pytest.approx(0.5)
    assert found["ci95"] == [found["value"]] * 2


def test_what_the_placer_says_is_averaged():
    with_info = [state("full", 0, 4.0, info={"groups": 10, "updates": 3}), state("full", 1, 4.0, info={"groups": 13})]
    (cell,) = comparison_rows(with_info)
    assert cell["info"] == {"groups": 11.5, "updates": 3.0}
    assert row(cell)["groups"] == "11.5"
    (without,) = comparison_rows([state("full", 0, 4.0)])
    assert row(without)["groups"] == "-"


def row(cell):
    ((_, lines),) = tables([cell])
    return dict(zip(header({"cells": [cell]}), lines[0], strict=True))


def test_the_table_names_the_variant_that_changes_nothing():
    data = {"name": "x", "cells": comparison_rows([state("plain", 0, 4.0), state("other", 0, 5.0)]), "runs": []}
    page = markdown(data)
    assert "| to plain |" in page
    assert "to the variant 'plain' paired by seed" in page
    assert "full" not in page


def test_the_page_explains_columns_whose_names_do_not():
    page = markdown({"name": "x", "cells": comparison_rows([state("full", 0, 4.0)]), "runs": []})
    assert [column for column in ("best found", "faster", "groups") if f"'{column}'" not in page] == []


def test_simulated_and_emulated_are_called_that():
    ((title, _),) = tables(comparison_rows([state("full", 0, 4.0)]))
    assert title == "net on box (simulated)"
    ((title, _),) = tables(comparison_rows([state("full", 0, 4.0, simulated=False)]))
    assert title == "net on box: GPU (emulated), CPU"


def test_the_page_shows_failures_and_what_is_open():
    states = [state("full", 0, 4.0), state("full", 1), state("other", 0, error="no | memory"), state("other", 1)]
    runs = [
        {"variant": s.cell.variant, "model": "net", "machine": "box", "seed": s.cell.seed, "error": s.error}
        | {"status": "finished" if s.outcome else "failed" if s.error else "open"}
        for s in states
    ]
    data = {"name": "x", "cells": comparison_rows(states), "runs": runs}
    assert list(failures(data)) == ["other, net, box, seed 0: no | memory"]
    page = markdown(data)
    assert "| full | 1/2 | 4.000 | - | 0.400 | 0.800 | 1/1 | 10 | - |" in page
    assert "| other | 0/2, 1 failed | - | - | - | - | - | - | - |" in page
    assert "2 of 4 runs are not finished" in page
    assert "without noise" in page


def test_measured_ratios_go_through_the_best_baseline():
    automatic = "HETERO:GPU,CPU (automatic)"
    result = run_result(
        baselines=(baseline_summary("CPU"), baseline_summary(automatic, ratio=0.8)),
        verdict=Verdict(Status.FASTER, automatic, Interval(0.5, 0.4, 0.6)),
    )
    assert measured_score(result) == RunScore(5.0, 0.4, 0.4, noise_free=False)
    kept = replace(result, verdict=Verdict(Status.SAME, automatic, Interval(1.5, 0.9, 2.0)))
    assert measured_score(kept) == RunScore(5.0, 0.8, pytest.approx(1.2), noise_free=False)
    alone = replace(result, verdict=Verdict(Status.BASELINE, "CPU"))
    assert measured_score(alone) == RunScore(5.0, 1.0, None, noise_free=False)


def test_measured_ratios_are_to_the_fastest_single_device_also_where_another_is_the_reference():
    automatic = "HETERO:GPU,CPU (automatic)"
    singles = (baseline_summary("CPU"), baseline_summary("GPU", ratio=0.5))
    result = run_result(
        baselines=(*singles, baseline_summary(automatic, ratio=0.25)),
        verdict=Verdict(Status.FASTER, "GPU", Interval(0.8, 0.7, 0.9)),
    )
    assert measured_score(result) == RunScore(5.0, 0.8, 0.8, noise_free=False)
    failed = replace(result, baselines=(singles[0], replace(singles[1], ratio=None), result.baselines[2]))
    kept = replace(failed, verdict=Verdict(Status.BASELINE, automatic))
    assert measured_score(kept) == RunScore(5.0, 0.25, None, noise_free=False)
