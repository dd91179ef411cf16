"""What a run has found out, as its result says it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.core.certificate import PAIRWISE, Certificate
from ovplace.core.device import Device
from ovplace.core.measurement import MACHINE, Candidate, ErrorKind, Measurement, OutputError, Trial
from ovplace.core.placement import Placement
from ovplace.core.result.parts import (
    Accuracy,
    BestPlacement,
    DeviceSummary,
    Environment,
    MachineSummary,
    ModelSummary,
    OutsideFraction,
    TimeSpent,
)
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.search.comparison.final_comparison import FinalComparison
from ovplace.search.comparison.rounds import Rounds
from ovplace.search.result import Findings, build_result, environment_of
from ovplace.session.baselines import Baseline
from ovplace.session.measurer import Seconds
from ovplace.testing.sessions import OPS, direct, session
from ovplace.version import __version__

NAMES = ("CPU_0", "CPU_1")
ALONE = Placement.uniform(OPS, "CPU_0", NAMES)
SPLIT = Placement(np.arange(OPS) // 6, NAMES)
ERRORS = {"CPU_0": (OutputError("y", 0.5, 0.25, 0.9),), "trial 3": (OutputError("y", 0.2, 0.125, 0.99),)}


def took(latency_ms, **rest):
    return Measurement((latency_ms,) * 3, (1,) * 3, **rest)


def baseline(name="CPU_0", placement=ALONE, measured=None, ratio=1.0):
    candidate = Candidate(name, placement) if placement else Candidate(name, target="AUTO:CPU_0")
    return Baseline(candidate, measured or took(10.0), ratio, placement is not None, placement)


def comparison(status=Status.FASTER):
    """Return the outcome of two rounds in which the best placement took 8 ms, the baseline 12 ms."""
    round_ = {
        "trial 3": took(8.0, outputs=ERRORS["trial 3"], submodels=("CPU_1", "CPU_0", "CPU_1")),
        "CPU_0": took(12.0, outputs=ERRORS["CPU_0"]),
    }
    rounds = Rounds((round_, round_), 2)
    verdict = Verdict(status, "CPU_0", rounds.interval("trial 3", "CPU_0"))
    found = Candidate("trial 3", SPLIT)
    faster = status == Status.FASTER
    return FinalComparison(verdict, SPLIT if faster else ALONE, "random" if faster else "CPU_0", rounds, found)


NOTHING_COMPARED = FinalComparison(Verdict(Status.BASELINE, "CPU_0"), ALONE, "CPU_0")


@pytest.fixture
def built():
    """Return a function that builds the result of a run with some findings."""

    def act(of=None, **found):
        of = of or session(Path("somewhere"), direct(), placer="random", model="m.xml")
        found = {"baselines": [baseline()], "trials": [], "comparison": comparison(), "seconds": Seconds()} | found
        return build_result(Findings(of, **found))

    return act


def test_it_says_what_was_placed_and_where(built):
    of = session(Path("somewhere"), direct(), model="m.xml")
    gpu = Device("GPU", "GPU.0", {"A": "1"}, {"full_name": "a GPU", "default_precision": "f16"}, emulated=True)
    of.selection = replace(of.selection, devices=(gpu, Device("CPU", "CPU")), note="chosen")
    result = built(of)
    assert result.model == ModelSummary("m.xml", of.graph.content_hash, OPS, OPS)
    assert result.devices == (
        DeviceSummary("GPU", "GPU", "GPU.0", "a GPU", {"A": "1"}, "f16", True),
        DeviceSummary("CPU", "CPU", "CPU", "", {}, "", False),
    )
    assert (result.note, result.folder) == ("chosen", Path("somewhere"))


def test_the_model_is_found_from_other_folders(built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").touch()
    result = built(session(Path("somewhere"), direct(), model="m.onnx"))
    assert result.model.path == str(tmp_path / "m.onnx")


def test_a_baseline_has_its_latency_before_and_in_the_comparison(built):
    measured = took(10.0, submodels=("CPU_0",), outputs=ERRORS["CPU_0"], facts={"execution_devices": "CPU"})
    (found,) = built(baselines=[baseline(measured=measured)]).baselines
    assert (found.name, found.ratio, found.competes, found.error) == ("CPU_0", 1.0, True, None)
    assert (found.submodels, found.runs_on, found.max_rel_error) == (("CPU_0",), "CPU", 0.25)
    assert found.latency_ms == Interval(10.0, 10.0, 10.0)
    assert found.final_latency_ms.value == pytest.approx(12.0)
    assert found.final_ratio.value == pytest.approx(1.0)


def test_outputs_that_are_infinitely_off_are_not_called_unchecked(built):
    unlike = took(10.0, outputs=(OutputError("y", float("inf"), float("inf"), 0.0),))
    default = baseline("CPU (default precision)", None, unlike)
    result = built(baselines=[baseline(), default], comparison=comparison(Status.SAME))
    assert result.baselines[1].max_rel_error == float("inf")
    stored = json.dumps(result.to_json(), allow_nan=False)
    assert RunResult.from_json(json.loads(stored)) == result


def test_a_baseline_that_failed_or_was_not_compared_has_less(built):
    failed = baseline("CPU_1", measured=Measurement.failed(ErrorKind.CRASH, "gone"), ratio=float("inf"))
    _, lost, auto = built(baselines=[baseline(), failed, baseline("AUTO", None, took(13.0), 1.3)]).baselines
    assert (lost.latency_ms, lost.ratio, lost.error) == (None, None, "crash: gone")
    assert (lost.max_rel_error, lost.runs_on, lost.final_latency_ms, lost.final_ratio) == (None, "", None, None)
    assert (auto.latency_ms.value, auto.ratio, auto.competes, auto.error) == (13.0, 1.3, False, None)


def test_the_interval_of_a_latency_is_drawn_from_the_seed(built):
    noisy = baseline(measured=Measurement(tuple(np.geomspace(5.0, 20.0, 9)), (9,)))

    def interval(seed):
        return built(session(Path(), direct(), seed=seed), baselines=[noisy]).baselines[0].latency_ms

    assert interval(0) == interval(0)
    assert interval(0).low < interval(0).value < interval(0).high


def test_the_answer_is_what_was_found_where_that_is_faster(built):
    result = built()
    assert result.best == result.found
    assert result.best == BestPlacement(
        origin="random",
        latency_ms=comparison().rounds.latency("trial 3"),
        ops_per_device={"CPU_0": 6, "CPU_1": 6},
        submodels=("CPU_1", "CPU_0", "CPU_1"),
        cut_bytes=SPLIT.cut_bytes(session(Path(), direct()).graph),
        hash=SPLIT.hash,
        max_rel_error=0.125,
    )
    assert result.accuracy == Accuracy("the whole model on CPU in f32", ERRORS["trial 3"])


@pytest.mark.parametrize("status", [Status.SAME, Status.BASELINE])
def test_the_answer_is_the_baseline_where_what_was_found_is_not_faster(built, status):
    found = comparison(status)
    result = built(baselines=[baseline("CPU_1"), baseline()], comparison=found)
    assert (result.best.origin, result.best.hash) == ("CPU_0", ALONE.hash)
    assert result.best.latency_ms == found.rounds.latency("CPU_0")
    assert result.best.max_rel_error == 0.25
    assert result.found.hash == SPLIT.hash
    assert result.accuracy.outputs == ERRORS["CPU_0"]


def test_where_nothing_was_compared_the_answer_has_its_latency_of_before(built):
    result = built(comparison=NOTHING_COMPARED, baselines=[baseline(measured=took(10.0, submodels=("CPU_0",)))])
    assert result.found is None
    assert result.best.latency_ms == Interval(10.0, 10.0, 10.0)
    assert (result.best.submodels, result.best.max_rel_error) == (("CPU_0",), None)
    assert (result.baselines[0].final_latency_ms, result.baselines[0].final_ratio) == (None, None)


def test_submodels_that_were_not_told_are_those_that_hetero_would_form(built):
    of = session(Path(), direct())
    assert built(of, comparison=NOTHING_COMPARED).best.submodels == tuple(ALONE.submodels(of.graph)) == ("CPU_0",)


def test_a_simulated_machine_computes_no_outputs_to_compare_with(built):
    of = session(Path(), direct())
    of.selection = replace(of.selection, simulated="two-gpus")
    assert built(of).accuracy.reference == ""


def trial(number, latency_ms=5.0, ratio=0.5, machine="", cached=False):
    measured = took(latency_ms, facts={MACHINE: machine} if machine else {})
    return Trial(number, SPLIT, measured, ratio, "random", cached)


def test_trials_are_counted(built):
    failed = Trial(2, SPLIT, Measurement.failed(ErrorKind.CRASH, "gone"), float("inf"), "random")
    search = built(trials=[trial(0), trial(1, cached=True), failed, trial(3)]).search
    assert (search.placer, search.coarsener) == ("random", "chains")
    assert (search.trials, search.measured, search.cached, search.failed) == (4, 3, 1, 1)


def test_what_the_placer_and_the_profile_say_is_kept(built):
    proof = Certificate("min_cut", PAIRWISE, 2.0, 1.0, 0.1)
    said = {"costs": {"measured": 3}, "certificate": proof, "info": {"updates": 2.0}, "stages_over_hetero": {"a": 1.1}}
    search = built(**said).search
    assert (search.costs, search.certificate, search.placer_info) == ({"measured": 3}, proof, {"updates": 2.0})
    assert search.stages_over_hetero == {"a": 1.1}
    assert built(costs={}).search.costs == {}
    bare = built().search
    assert (bare.costs, bare.certificate, bare.placer_info, bare.stages_over_hetero) == (None, None, {}, {})


def test_seconds_are_those_that_were_counted(built):
    counted = Seconds(
        compiling=1.0,
        inferring=2.0,
        requests=4.0,
        placer=5.0,
        starting=6.0,
        baselines=7.0,
        comparison=8.0,
        profiling=9.0,
        search=10.0,
        search_outside=2.5,
    )
    search = built(seconds=counted, total_s=12.0, preparing_s=0.5).search
    assert search.seconds == TimeSpent(
        total=12.0,
        measuring=4.0,
        compiling=1.0,
        inferring=2.0,
        placer=5.0,
        profiling=9.0,
        search=10.0,
        preparing=0.5,
        starting=6.0,
        baselines=7.0,
        comparison=8.0,
    )
    assert search.outside_fraction == OutsideFraction(search=0.25, run=0.75)


def test_fractions_of_no_time_are_zero(built):
    assert built().search.outside_fraction == OutsideFraction(search=0.0, run=0.0)
    assert built(seconds=Seconds(compiling=9.0), total_s=8.0).search.outside_fraction.run == 0.0
    assert (built().search.seconds.total, built().search.seconds.preparing) == (0.0, 0.0)


def test_machines_of_a_fleet_are_listed_with_what_they_measured(built):
    trials = [
        trial(0, 5.0, 0.5, "b"),
        trial(1, 6.0, 0.5, "b"),
        trial(2, 7.0, 0.5, "b", cached=True),
        trial(3, 5.0, float("inf"), "a"),
        trial(4),
    ]
    found = built(trials=trials, aside={"c": "it left", "a": "it is slow"}).search.machines
    assert found == (
        MachineSummary("a", 1, None, "it is slow"),
        MachineSummary("b", 2, 12.0, ""),
        MachineSummary("c", 0, None, "it left"),
    )


def test_the_environment_is_what_backend_and_devices_say(built):
    of = session(Path(), direct(), seed=7)
    of.facts = {"openvino": "2026.1", "simulated": "two-gpus", "cpu": "a CPU", "platform": "Linux"}
    driven = Device("GPU", "GPU", facts={"driver": "31.0"})
    of.selection = replace(of.selection, devices=(driven, Device("CPU", "CPU")))
    versions = {"ovplace": __version__, "openvino": "2026.1"}
    expected = Environment(versions, "two-gpus", "a CPU", "Linux", {"GPU": "31.0"}, 7, "ovplace optimize")
    assert built(of, command="ovplace optimize").environment == expected
    of.facts = {}
    unknown = Environment({"ovplace": __version__, "openvino": ""}, "", "", "", {"GPU": "31.0"}, 7, "")
    assert built(of).environment == environment_of(of) == unknown
