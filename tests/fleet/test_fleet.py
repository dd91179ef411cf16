"""Searches on a fleet of processes: killed, hanging and late machines, and real devices."""

import signal
from collections import Counter

import openvino as ov
import pytest

import ovplace
from ovplace.core.measurement import MACHINE
from ovplace.store.run_folder import RunFolder
from ovplace.testing.models import residual
from tests.fleet.processes import running_fleet

SETTINGS = (
    "measure.blocks=1", "measure.min_time_ms=1", "comparison.rounds=2", "comparison.blocks=3", "comparison.race=0",
    "comparison.min_time_ms=1", "profiling.budget_s=2", "profiling.reuse=false",
)  # fmt: skip
BUDGET = 60


@pytest.fixture(autouse=True)
def _certificates(certificates, monkeypatch):
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))


def trials_of(folder):
    store = RunFolder(folder).open_store()
    trials = store.trials()
    store.close()
    return trials


@pytest.mark.slow
def test_a_search_survives_its_machines(certificates, tmp_path):
    """One machine is killed, one hangs, one comes late: each trial is recorded once, and one search sees them all."""
    with running_fleet(tmp_path, certificates, "killed", "hangs", "stays", "other") as fleet:
        happened = []

        def listener(event):
            if event.phase == "search" and event.done >= 10 and not happened:
                happened.append(event.done)
                fleet.send("killed", signal.SIGKILL)
                fleet.send("hangs", signal.SIGSTOP)
                fleet.start_worker("late")
                fleet.wait_for("late")

        run = ovplace.optimize(
            "demo", tmp_path / "run", machine="i9-12900k+flex170", placer="random", budget=BUDGET, settings=SETTINGS,
            cluster=fleet.address, listener=listener,
        )  # fmt: skip
        assert happened
    trials = trials_of(tmp_path / "run")
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert sum(not trial.cached for trial in trials) == BUDGET == run.search.measured
    assert not [trial for trial in trials if trial.measurement.error and "lost" in trial.measurement.error_text]
    machines = Counter(trial.measurement.facts[MACHINE] for trial in trials)
    assert {"stays", "late"} <= machines.keys() <= {"killed", "hangs", "stays", "other", "late"}


@pytest.mark.slow
def test_one_worker_asks_what_a_local_run_asks_and_real_devices_answer_alike(certificates, tmp_path):
    devices = "CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU{INFERENCE_PRECISION_HINT:f32}"
    common = {"device": devices, "placer": "random", "budget": 6, "settings": SETTINGS, "progress": False}
    alone = {"machine": "i9-12900k+flex170", "placer": "min_cut", "budget": 12, "settings": SETTINGS}
    with running_fleet(tmp_path, certificates, "a") as fleet:
        here = ovplace.optimize("demo", tmp_path / "here", **alone, progress=False)
        there = ovplace.optimize("demo", tmp_path / "there", **alone, cluster=fleet.address, progress=False)
        fleet.start_worker("b")
        fleet.wait_for("b")
        ov.save_model(residual(), tmp_path / "residual.xml")
        real = ovplace.optimize(tmp_path / "residual.xml", tmp_path / "real", **common, cluster=fleet.address)
    local = ovplace.optimize(tmp_path / "residual.xml", tmp_path / "local", **common)
    assert hashes(tmp_path / "there") == hashes(tmp_path / "here")
    assert (there.best.hash, there.verdict.ratio) == (here.best.hash, here.verdict.ratio)
    assert {trial.measurement.facts[MACHINE] for trial in trials_of(tmp_path / "real")} == {"a", "b"}
    assert all(trial.measurement.ok and trial.measurement.outputs for trial in trials_of(tmp_path / "real"))
    assert set(hashes(tmp_path / "real")) == set(hashes(tmp_path / "local"))
    assert {b.name for b in real.baselines} == {b.name for b in local.baselines}
    assert real.accuracy.max_rel_error == local.accuracy.max_rel_error


@pytest.mark.slow
@pytest.mark.parametrize("placer", ["hsdag", "seq2seq"])  # two others are asked as seq2seq is
def test_a_learned_placer_asks_one_worker_what_it_asks_here_and_loses_nothing_with_one_of_two(
    placer, certificates, tmp_path, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    common = {"machine": "i9-12900k+flex170", "placer": placer, "budget": 30, "settings": SETTINGS}
    with running_fleet(tmp_path, certificates, "killed") as fleet:
        here = ovplace.optimize("demo", tmp_path / "here", **common, progress=False)
        there = ovplace.optimize("demo", tmp_path / "there", **common, cluster=fleet.address, progress=False)
        fleet.start_worker("stays")
        fleet.wait_for("stays")

        def listener(event):
            if event.phase == "search" and event.done >= 15 and "killed" in fleet.processes:
                fleet.kill("killed")

        run = ovplace.optimize("demo", tmp_path / "two", **common, cluster=fleet.address, listener=listener)
        assert "killed" not in fleet.processes
    assert hashes(tmp_path / "there") == hashes(tmp_path / "here")
    assert (there.best.hash, there.verdict.ratio) == (here.best.hash, here.verdict.ratio)
    trials = trials_of(tmp_path / "two")
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert sum(not trial.cached for trial in trials) == 30 == run.search.measured
    assert all(trial.measurement.ok for trial in trials)
    assert {trial.measurement.facts[MACHINE] for trial in trials} == {"stays", "killed"}


def hashes(folder):
    return [trial.placement.hash for trial in trials_of(folder)]
