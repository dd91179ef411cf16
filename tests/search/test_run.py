"""A call from its configuration to its files; the session is on the fake backend, and no model is read or written."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.device import Device
from ovplace.core.result.parts import Limits
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.errors import InterruptedRunError, UsageError
from ovplace.ir import placed_model
from ovplace.search import run as run_module
from ovplace.search.comparison.final_comparison import FinalComparison
from ovplace.search.explore import explore
from ovplace.search.run import run
from ovplace.session.deadline import TimeBudget
from ovplace.session.events import Progress, silent
from ovplace.session.fingerprint import fingerprint
from ovplace.store.run_folder import RunFolder
from ovplace.testing import fake_backend
from ovplace.testing.sessions import QUICK, SHORT_COMPARISON, direct, session


class Caller:
    """Calls `run` in one folder; notes what it hands on, and may change what it finds."""

    def __init__(self, path):
        self.folder, self.split = RunFolder(path / "deep" / "run"), 0.5
        self.model = path / "m.onnx"
        self.model.write_bytes(b"a model")
        self.begun, self.earlier_answers, self.times, self.written = [], [], [], []
        self.change = lambda findings: findings

    def call(self, *listener_and_command, **search):
        return run(self.config(**search), self.folder.path, *listener_and_command)

    def config(self, **search):
        given = {"model": str(self.model), "backend": fake_backend.NAME, "placer": "random", "budget": 4, **search}
        return RunConfig(search=SearchConfig(**given), measure=QUICK, comparison=SHORT_COMPARISON)

    def open_session(self, config, folder, listener, begun):
        self.begun.append(begun)
        made = session(folder.path, direct(split=self.split))
        devices = (Device("CPU_0", "CPU"), Device("CPU_1", "CPU", emulated=True))
        site = SimpleNamespace(hardware="two CPUs", close=lambda: None)
        return replace(made, config=config, selection=replace(made.selection, devices=devices), site=site)

    def explore(self, measurer, listener, earlier_answer):
        self.earlier_answers.append(earlier_answer)
        self.times.append(measurer.time)
        measurer.time = TimeBudget()
        return self.change(explore(measurer, listener, earlier_answer))

    def write_placed(self, *given):
        assert not self.folder.result.exists(), "it is not of the placement that is written now"
        self.written.append(given)
        self.folder.prepared_model.touch()
        self.folder.placement.write_text(json.dumps(given[2]))


@pytest.fixture
def caller(tmp_path, monkeypatch):
    made = Caller(tmp_path)
    monkeypatch.setattr(run_module, "open_session", made.open_session)
    monkeypatch.setattr(run_module, "explore", made.explore)
    monkeypatch.setattr(placed_model, "write_placed", made.write_placed)
    return made


def test_a_call_leaves_its_settings_its_answer_and_what_it_was_run_on(caller):
    result = caller.call(silent, "ovplace optimize m.onnx")
    folder = caller.folder
    assert folder.read_config() == resolved(caller.config())
    assert folder.read_result() == result
    assert (result.verdict.status, result.search.trials) == ("faster", 4)
    assert result.search.finished_under == (Limits(4, 0.0, 2),)
    with closing(folder.open_store()) as store:
        kept = {key: store.get(key) for key in ("emulated", "hardware", "source", "site")}
    source = fingerprint(caller.model)
    assert kept == {"emulated": ["CPU_1"], "hardware": "two CPUs", "source": source, "site": "this machine"}


def test_the_placed_model_says_where_it_comes_from_and_names_no_file(caller):
    result = caller.call(silent, "ovplace optimize m.onnx")
    ((model, path, table, devices, provenance),) = caller.written
    assert (model, path) == (caller.folder.prepared_model, caller.folder.path)
    assert (len(table), set(table.values())) == (12, {"CPU_0", "CPU_1"})
    assert [device.name for device in devices] == ["CPU_0", "CPU_1"]
    assert set(provenance) == {"best", "verdict", "environment"}
    assert provenance["best"] == result.to_json()["best"]
    assert (provenance["environment"]["command"], result.environment.command) == ("", "ovplace optimize m.onnx")
    assert caller.call(budget=5).environment.command == ""


def test_a_new_run_begins_nowhere_and_one_that_goes_on_where_it_began(caller):
    told = []
    caller.call(told.append)
    assert not any("the run in" in event.text for event in told)
    caller.call(told.append, budget=5)
    new, continued = caller.begun
    assert new is None
    assert (continued.hardware, continued.groups.group_of.tolist()) == ("two CPUs", list(range(12)))
    assert Progress("prepare", 1, 3, f"continuing the run in '{caller.folder}'") in told


@pytest.mark.parametrize(
    ("limits", "finished"),
    [
        ({}, "(4 placements); a larger --budget continues it"),
        ({"time_s": 9.0}, "(4 placements, 9 s); a larger --budget or --time continues it"),
    ],
)
def test_a_run_that_is_finished_is_not_run_again(caller, limits, finished):
    told = []
    first = caller.call(**limits)
    assert caller.call(told.append, **limits) == first
    assert told == [Progress("prepare", 3, 3, f"the run in '{caller.folder}' is finished {finished}")]
    assert len(caller.begun) == 1


@pytest.mark.parametrize(("time_s", "limit_s"), [(20.0, 17.0), (0.0, float("inf"))])
def test_the_time_of_a_call_begins_with_it(caller, monkeypatch, time_s, limit_s):
    """The clock shows 100 s when it begins, 103 s when it is prepared, and 110 s at the end."""
    monkeypatch.setattr(run_module, "time", SimpleNamespace(monotonic=iter((100.0, 103.0, 110.0)).__next__))
    result = caller.call(time_s=time_s)
    assert (caller.times[0].start_s, caller.times[0].limit_s) == (103.0, limit_s)
    assert (result.search.seconds.preparing, result.search.seconds.total) == (3.0, 10.0)


def blas_threads(_=None):
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_matrix_products_use_one_thread_while_the_run_explores_and_as_many_as_before_afterwards(caller):
    seen = []
    with threadpool_limits(2, user_api="blas"):
        caller.call(lambda event: seen.append((event.phase, blas_threads())))
        assert blas_threads() == {2}
    assert [threads for phase, threads in seen if phase == "search"] == [{1}] * 4


def test_an_answer_that_was_faster_is_to_be_met_again_and_no_other(caller):
    caller.split = 2.0
    assert not caller.call(budget=1).is_faster
    caller.split = 0.5
    faster = caller.call(budget=4)
    assert faster.is_faster
    last = caller.call(budget=5)
    assert caller.earlier_answers == ["", "", faster.best.hash]
    assert [limits.budget for limits in last.search.finished_under] == [1, 4, 5]


def nothing_compared(findings):
    baseline = findings.baselines[0]
    verdict = Verdict(Status.BASELINE, baseline.name, notes=("no time",))
    return replace(findings, comparison=FinalComparison(verdict, baseline.placement, baseline.name))


def test_an_answer_stands_where_a_later_call_compares_nothing(caller):
    first = caller.call()
    caller.change = nothing_compared
    later = caller.call(budget=5)
    assert (later.best, later.found, later.verdict.status) == (first.best, first.found, "faster")
    assert later.verdict.notes == ("no time", "so the answer of an earlier call stands")
    assert (later.search.trials, len(later.search.finished_under)) == (5, 2)
    assert caller.folder.read_result() == later
    assert len(caller.written) == 1


def test_an_answer_that_stands_is_still_said_to_gain_from_the_cut_alone(caller):
    first = caller.call()
    null = {"null_control": Interval(0.8, 0.7, 0.9, level=0.98), "null_device": "CPU_0"}
    caller.folder.write_result(replace(first, verdict=replace(first.verdict, **null)))
    caller.change = nothing_compared
    *_, stands, cut = caller.call(budget=5).verdict.notes
    assert stands == "so the answer of an earlier call stands"
    assert cut.startswith("cutting the model at the same places without changing the device makes it faster, too")


def test_an_answer_that_fails_as_it_is_measured_again_does_not_stand(caller):
    first = caller.call()

    def failed(findings):
        found = nothing_compared(findings)
        return replace(found, comparison=replace(found.comparison, failed=[first.best.hash]))

    caller.change = failed
    later = caller.call(budget=5)
    assert (first.is_faster, later.verdict.status, later.best.origin) == (True, "baseline", later.verdict.against)
    assert later.verdict.notes == ("no time",)
    assert caller.folder.read_result() == later
    assert len(caller.written) == 2


def test_a_baseline_that_was_the_answer_is_no_answer_to_keep(caller):
    caller.change = nothing_compared
    caller.call()
    later = caller.call(budget=5)
    assert later.verdict.notes == ("no time",)
    assert len(caller.written) == 2


def test_a_stopped_call_says_how_to_go_on(caller):
    def stop(event):
        if event.phase == "search":
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError) as caught:
        caller.call(stop)
    assert str(caught.value) == (
        f"stopped; everything measured is saved, the same command continues in '{caller.folder}'"
    )
    assert caller.call().search.trials == 4


def test_a_call_that_cannot_work_makes_no_folder(caller, tmp_path):
    with pytest.raises(UsageError, match=r"the inputs 'nothing\.npz' do not exist"):
        caller.call(input="nothing.npz")
    with pytest.raises(UsageError, match=rf"the inputs '{tmp_path}' are a folder; name an \.npz file"):
        caller.call(input=str(tmp_path))
    assert not caller.folder.path.exists()


def test_inputs_that_vanish_meanwhile_are_named_and_the_run_goes_on_when_they_are_back(caller, tmp_path):
    inputs = tmp_path / "inputs.npz"
    inputs.write_bytes(b"arrays")

    def vanish(progress):
        if progress.phase == "baselines":
            inputs.unlink(missing_ok=True)

    with pytest.raises(UsageError, match=r"cannot read the inputs '.*inputs\.npz': No such file .*; put them back"):
        caller.call(vanish, input=str(inputs))
    inputs.write_bytes(b"arrays")
    assert caller.call(input=str(inputs)).search.trials == 4
