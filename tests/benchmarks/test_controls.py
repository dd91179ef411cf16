"""The table of learned variants against their controls, and the processes that suites run in."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.searches.controls import controls_table, places_tables, searches_table, stored_searches
from benchmarks.searches.in_pool import in_pool
from benchmarks.searches.suite_file import Suite
from benchmarks.searches.tables import SearchOutcome
from ovplace.config.schema import RunConfig
from ovplace.experiments.grid import Cell
from ovplace.experiments.task import Task

SUITE = Suite("learned", budgets=(100,), controls={"paper": "untrained"})


def searched(variant, seed, best_ms, last_ms, model="unet"):
    cell = Cell(variant, model, "core-ultra", seed, Path(), RunConfig(), simulated=True)
    data = {"asked": [[7, best_ms], [101, 0.1]], "last_ms": last_ms, "measured": 101, "baseline_ms": 9.0, "answers": []}
    return SearchOutcome(cell, data, 1.0, from_reference=False)


def raw(found):
    return searches_table(SUITE, "learned", found, "simulated")


def test_each_search_is_compared_with_its_control_of_the_same_seed():
    found = [
        searched("paper", 0, 2.0, 3.0), searched("untrained", 0, 4.0, 4.0),
        searched("paper", 1, 3.0, 6.0), searched("untrained", 1, 6.0, 4.0),
        searched("paper", 2, 9.0, 9.0),
    ]  # fmt: skip
    (row,) = controls_table(SUITE, "learned", raw(found)).rows
    assert row[:5] == ("paper", "untrained", "unet", "core-ultra", "2")
    assert row[5] == "0.500 [0.500, 0.500]"
    assert row[6].startswith("1.061 [0.0"), "two searches that differ tell nothing"


def test_places_have_rows_of_their_own():
    found = [searched(v, s, 1.0 + s, 2.0, m) for v in ("paper", "untrained") for s in (0, 1) for m in ("unet", "demo")]
    rows = controls_table(SUITE, "learned", raw(found)).rows
    assert [(row[2], row[4]) for row in rows] == [("all", "4"), ("unet", "2"), ("demo", "2")]


def test_each_place_has_a_table_of_what_its_searches_came_to():
    found = [searched("paper", seed, best_ms, 2.0) for seed, best_ms in enumerate((1.005, 1.2, 1.1))]
    answered = [(*row[:7], "1.02, 1.5") for row in raw([*found, searched("paper", 0, 3.0, 4.0, "demo")]).rows]
    unet, demo = places_tables(SUITE, "learned", replace(raw(found), rows=tuple(answered)))
    assert unet.rows == (("paper", "3", "10.0 % (20.0 %)", "1 of 3", "100 %", "2.0 %"),)
    assert (demo.rows[0][:4], demo.name) == (("paper", "1", "200 %", "0 of 1"), "learned-demo-core-ultra-ends")


def test_stored_searches_count_as_those_of_one_run_and_the_last_file_wins(tmp_path):
    old = [searched("paper", 0, 2.0, 3.0), searched("untrained", 0, 4.0, 4.0)]
    new = [
        searched("paper", 0, 1.0, 1.0),
        searched("untrained", 0, 4.0, 4.0, "demo"),
        searched("paper", 0, 2, 2, "demo"),
    ]
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, found in zip(files, (old, new), strict=True):
        file.write_text(json.dumps(raw(found).to_json()))
    together = stored_searches(SUITE, "learned", files)
    assert controls_table(SUITE, "learned", together).rows == controls_table(SUITE, "learned", raw(old[1:] + new)).rows
    assert (len(together.rows), together.machine) == (4, "simulated: core-ultra")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("function", "error"), [("builtins:print", ""), ("operator:lt", "TypeError")])
def test_an_error_is_that_of_its_cell(function, error, jobs, tmp_path):
    cell = Cell("paper", "unet", "core-ultra", 0, tmp_path, RunConfig(), simulated=True)
    ended = []
    in_pool([cell], Task(function, lambda _: None), jobs, lambda of, text: ended.append((of, text.partition(":")[0])))
    assert ended == [(cell, error)]
