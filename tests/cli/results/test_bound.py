"""`ovplace bound`: a finished run, bad input, and the words for each case."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.cli.results.bound import _pairs, sentences
from ovplace.commands.optimality_gap import AnswerGap, ModelFit, ModelOptimum, OptimalityGap
from ovplace.core.verdict import Status
from ovplace.cost.calibration.agreement import Agreement
from ovplace.testing.results import run_result

FOUND = OptimalityGap(
    run="run",
    result=run_result(),
    best=AnswerGap("cut", {"CPU": 10}, None, model_ms=11.0, above_optimum=0.1, above_bound=0.2),
    optimum=ModelOptimum(10.0, 9.0, 0.09, "milp", {"CPU": 10}, ("CPU",), {}),
    certificates=(),
    costs_source="profiled",
    costs_measured_now=False,
    fit=ModelFit(9, Agreement(0.8, 0.07, 9), None),
)


def said(simulated="", best=None, gap=0.09, held_back=None):
    environment = replace(FOUND.result.environment, simulated=simulated)
    found = replace(
        FOUND,
        result=replace(FOUND.result, environment=environment),
        best=replace(FOUND.best, **(best or {})),
        optimum=replace(FOUND.optimum, gap=gap),
        fit=replace(FOUND.fit, held_back=held_back),
    )
    return "\n".join(sentences(found))


def test_a_distance_is_of_the_model():
    text = said()
    assert text.startswith("Under the cost model the answer takes 10 % more time than the best placement known")
    assert "at most 20 % above the optimum" in text
    assert "takes 10 % more time than the optimum." in said(gap=0.0)


def test_nearly_twice_the_time_is_written_without_an_exponent():
    assert "takes 100 % more time than the optimum." in said(best={"above_optimum": 0.996}, gap=0.0)
    assert "takes 9.9 % more time than the optimum." in said(best={"above_optimum": 0.0994}, gap=0.0)


def test_optimal_is_said_only_where_it_is_proven():
    assert "is optimal" in said(best={"above_optimum": 0.0, "above_bound": 0.0}, gap=0.0)
    assert "is optimal" not in said(best={"above_optimum": 0.0, "above_bound": 0.09})
    assert "is optimal" not in said(gap=0.0)


def test_a_solver_without_time_proves_nothing():
    assert "nothing is proven" in said(best={"above_bound": None}, gap=None)


def test_a_simulated_machine_is_called_that():
    assert "of the simulated machine two-gpus the answer" in said(simulated="two-gpus")
    assert "by 7 % on average: their noise" in said(simulated="two-gpus")


def test_the_model_says_how_far_off_it_is():
    assert "off by 5 % on average" in said(held_back=Agreement(0.9, 0.05, 9))
    assert "off by" not in said()


def test_a_baseline_is_not_found_by_itself_and_one_submodel_is_no_plural():
    pairs = dict(_pairs(FOUND))
    assert (pairs["answer"], pairs["attained by"]) == (
        "10 operations on CPU, found by cut",
        "10 operations on CPU in 1 submodel",
    )
    simulated = replace(FOUND.result.environment, simulated="two-gpus")
    verdict = replace(FOUND.result.verdict, status=Status.SAME)
    result = replace(FOUND.result, environment=simulated, verdict=verdict)
    pairs = dict(_pairs(replace(FOUND, result=result, best=replace(FOUND.best, origin="CPU"))))
    assert pairs["answer"] == "10 operations on CPU (simulated), the baseline CPU (simulated)"


def test_an_optimum_that_failed_in_the_run_is_called_that():
    failed = replace(FOUND, optimum=replace(FOUND.optimum, failed="compile: no kernel"))
    assert "The placement that attains the optimum failed in the run: compile: no kernel." in sentences(failed)
    assert "failed" not in said()


def test_an_answer_without_a_value():
    assert "cannot predict the answer" in said(best={"model_ms": None, "above_optimum": None, "above_bound": None})


@pytest.fixture
def hurried(finished, tmp_path, monkeypatch):
    """Return a copy of the finished run that spends little time on costs, and keeps them to itself."""
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "cache"))
    folder = Path(shutil.copytree(finished[0], tmp_path / "run"))
    text = (folder / "config.toml").read_text(encoding="utf-8")
    assert "budget_s = 60.0" in text
    (folder / "config.toml").write_text(text.replace("budget_s = 60.0", "budget_s = 3.0"), encoding="utf-8")
    return folder


def test_a_finished_run(ovplace, hurried):
    done = ovplace("bound", hurried, "--time-limit", "5s")
    assert done.code == 0, done.err
    assert "Under the cost model" in done.out
    assert "simulated" not in done.out
    again = ovplace("bound", hurried, "--time-limit", "5s", "--json")
    data = json.loads(again.out)
    assert data["optimum"]["lower_bound_ms"] <= data["optimum"]["model_ms"] * (1 + 1e-9)
    assert set(data["optimum"]["placement"].values()) <= {device["name"] for device in data["devices"]}
    assert not data["costs"]["measured_now"], "what was measured once is kept"


@pytest.mark.parametrize("folder", ["nothing", "."])
def test_no_finished_run(ovplace, tmp_path, folder):
    done = ovplace("bound", tmp_path / folder)
    assert done.code == 1
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "'ovplace optimize" in done.err


@pytest.mark.parametrize("limit", ["0", "soon"])
def test_a_bad_time_limit(ovplace, tmp_path, limit):
    done = ovplace("bound", tmp_path, "--time-limit", limit)
    assert done.code == 2
