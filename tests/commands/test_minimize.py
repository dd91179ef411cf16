"""`ovplace minimize`: what is left of a failing trial fails, alone and with plain OpenVINO."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openvino import opset13 as ops
from openvino import opset15 as texts_ops

from ovplace.api.searching import optimize
from ovplace.commands.minimizing.cut import cut_of_trial, smallest_cut
from ovplace.commands.minimizing.delta_debugging import smallest_failing
from ovplace.commands.minimizing.minimize import minimize
from ovplace.commands.minimizing.oracle import Oracle
from ovplace.commands.minimizing.reproduction import INPUTS, MODEL, PROGRAM, Reproduction, write_reproduction
from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind, Measurement, OutputError, Trial
from ovplace.core.placement import Placement
from ovplace.devices import emulated_gpu
from ovplace.errors import PlacementError, StoreError, UsageError
from ovplace.ir.inputs import as_array, as_tensor
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.placed_model import STORED_AFFINITY
from ovplace.ir.read import read_graph
from ovplace.session.events import silent
from ovplace.testing import fake_backend, models
from ovplace.testing.faults import trusting_openvino
from ovplace.testing.sessions import OPS, DirectPool, direct, session
from tests.whole_runs import PAIR, QUICK

SETTINGS = (*QUICK, "search.stages=false")


@given(culprits=st.sets(st.integers(0, 39), min_size=1, max_size=4))
def test_nothing_can_be_left_out_of_what_is_left(culprits):
    assert smallest_failing(range(40), lambda part: culprits <= set(part)) == sorted(culprits)


def test_where_any_one_of_many_fails_one_is_left():
    assert len(smallest_failing(range(40), lambda part: len(part) > 0)) == 1


def test_a_device_that_is_gone_and_had_no_operation_does_not_matter(tmp_path):
    of, pool = session(tmp_path, direct()), direct(fault="fail")
    groups = legal_groups(of.graph)
    choice = np.arange(groups.n_groups) % 2
    tried = groups.lift(choice, (*of.problem.device_names, "NPU"))
    trial = Trial(0, tried, Measurement.failed(ErrorKind.COMPILE, "refused"), np.inf, "random")
    cut = cut_of_trial(of, Oracle(pool, 20.0), trial)
    assert cut.placement.hash == tried.hash
    assert len(cut.moved) == groups.n_groups // 2


@pytest.mark.parametrize(
    ("staged", "text"),
    [
        (False, "and now works; an intermittent failure cannot be reduced"),
        (True, "and now works by HETERO; an intermittent failure, or one in stages only, cannot be reduced"),
    ],
)
def test_a_failure_that_does_not_come_again_may_be_one_of_stages(staged, text, tmp_path, monkeypatch):
    monkeypatch.setattr(fake_backend.Backend, "runs_stages", staged)
    of = session(tmp_path, direct())
    tried = Placement(np.arange(OPS) // 6, of.problem.device_names)
    trial = Trial(3, tried, Measurement.failed(ErrorKind.CRASH, "gone"), np.inf, "random")
    with pytest.raises(PlacementError, match=re.escape(f"trial 3 failed (crash) {text}")):
        cut_of_trial(of, Oracle(direct(), 20.0), trial)


@pytest.mark.parametrize("max_error", [None, np.inf])
def test_a_device_that_computes_nan_is_no_home_and_excuses_no_outputs(tmp_path, max_error):
    def measure(candidates, _):
        off = [0.0 if one.placement.used == ("CPU_1",) else np.inf for one in candidates]
        return [Measurement((1.0,), (1,), outputs=(OutputError("y", error, error, 0.0),)) for error in off]

    pool = DirectPool(measure)
    of = session(tmp_path, pool, max_error=max_error)
    tried = Placement(np.arange(OPS) // 6, of.problem.device_names)
    trial = Trial(0, tried, Measurement.failed(ErrorKind.OUTPUT_MISMATCH, "wrong"), np.inf, "random")
    cut = cut_of_trial(of, Oracle(pool, 20.0), trial)
    assert (cut.kind, cut.devices[cut.home]) == (ErrorKind.OUTPUT_MISMATCH, "CPU_1")


def failed_trial(of):
    """Return a trial of a session in which every other group was on the second device, and nothing compiled."""
    groups = legal_groups(of.graph)
    tried = groups.lift(np.arange(groups.n_groups) % 2, of.problem.device_names)
    return Trial(3, tried, Measurement.failed(ErrorKind.COMPILE, "refused"), np.inf, "random")


def test_a_trial_that_works_now_or_is_of_other_devices_is_refused(tmp_path):
    of = session(tmp_path, direct())
    trial = failed_trial(of)
    with pytest.raises(PlacementError, match=r"trial 3 failed \(compile\) and now works; an intermittent failure"):
        cut_of_trial(of, Oracle(direct(), 20.0), trial)
    with pytest.raises(PlacementError, match=r"failed \(compile\) and now fails otherwise \(output_mismatch\)"):
        cut_of_trial(of, Oracle(direct(fault="wrong_outputs"), 20.0), trial)
    elsewhere = Placement(trial.placement.device_of, ("CPU_0", "NPU"))
    with pytest.raises(PlacementError, match=r"trial 3 uses device 'NPU', here are CPU_0, CPU_1; do this where it was"):
        cut_of_trial(of, Oracle(direct(), 20.0), replace(trial, placement=elsewhere))


def test_what_is_left_when_all_runs_are_spent_fails(tmp_path):
    of, oracle = session(tmp_path, direct()), Oracle(direct(fault="fail"), 20.0, budget=4)
    whole = cut_of_trial(of, oracle, failed_trial(of))
    cut = smallest_cut(whole, oracle, silent)
    assert (oracle.runs, oracle.budget) == (4, 0)
    assert 1 < len(cut.moved) < len(whole.moved)
    assert oracle.failure(cut.placement) == ErrorKind.COMPILE
    assert oracle.runs == 4, "it was among those that were run"


def test_a_program_calls_infinite_errors_wrong_whatever_is_allowed():
    program = Reproduction(ErrorKind.OUTPUT_MISMATCH, "wrong", [Device("CPU", "CPU")], np.inf).program()
    (line,) = [line for line in program.splitlines() if "outputs are wrong" in line]
    with pytest.raises(SystemExit, match="the outputs are wrong"):
        exec(line, {"sys": sys, "worst": np.inf})


def transposed():
    """A three-dimensional Transpose of the last two axes, which the emulated GPU gets wrong, among other operations."""
    x = ops.parameter([1, 16, 24], np.float32, name="x")
    before = ops.relu(ops.exp(x, name="exp"), name="relu")
    swapped = ops.transpose(before, ops.constant(np.array([0, 2, 1])), name="swap")
    return ov.Model([ops.result(ops.sqrt(ops.sigmoid(swapped, name="sigmoid"), name="sqrt"))], [x])


@pytest.mark.slow
@pytest.mark.skipif(emulated_gpu.why_unavailable() != "", reason="needs the emulated GPU")
def test_a_wrong_operation_is_found_and_shown(tmp_path):
    given = {"device": "GPU,CPU{INFERENCE_PRECISION_HINT:f32}", "placer": "random", "budget": 1, "max_error": 1e-3}
    run = optimize(
        transposed(), tmp_path / "run", settings=SETTINGS, progress=False, backend=trusting_openvino.NAME, **given
    )
    failed = [trial.number for trial in run.trials if trial.measurement.error == ErrorKind.OUTPUT_MISMATCH]
    found = minimize(run.folder, failed[0], tmp_path / "left", silent)
    assert (found.kind, found.home, found.is_smallest) == (ErrorKind.OUTPUT_MISMATCH, "CPU", True)
    assert set(found.moved) - {"swap"} == {name for name in found.moved if name.startswith("Constant")}
    assert found.ops == 4
    assert found.shown
    done = subprocess.run([sys.executable, found.folder / "reproduce.py"], capture_output=True, text=True, check=False)
    assert "Transpose swap on GPU" in done.stdout
    assert done.stderr.splitlines()[-1] == "the outputs are wrong"
    report = (found.folder / "report.md").read_text()
    assert report.startswith("# Output mismatch on GPU (emulated)")
    assert "| swap | Transpose | [1, 24, 16] | GPU |" in report


@pytest.mark.slow
def test_a_crash_is_left_with_the_least_that_crashes(tmp_path):
    settings = (*SETTINGS, "backend.fault=segfault", "backend.on=split")
    given = {"device": PAIR, "placer": "random", "budget": 2, "backend": fake_backend.NAME}
    run = optimize(models.residual(), tmp_path / "run", settings=settings, progress=False, **given)
    config = run.folder / "config.toml"
    config.write_text(config.read_text().replace('cluster = ""', 'cluster = "tls://127.0.0.1:1"'))  # as on a fleet
    found = minimize(run.folder, 1, tmp_path / "left", silent)
    assert found.kind == ErrorKind.CRASH
    assert len(found.moved) < found.moved_before
    assert not found.shown, "the crash is the backend's, not OpenVINO's"
    assert {path.name for path in Path(found.folder).iterdir()} == {
        "model.xml", "model.bin", "inputs.npz", "reproduce.py", "report.md",
    }  # fmt: skip
    with pytest.raises(UsageError, match=r"trial 7 is not in .*; those that failed are"):
        minimize(run.folder, 7, tmp_path / "left", silent)
    (tmp_path / "taken").touch()
    with pytest.raises(StoreError, match=r"cannot write into .*taken': File exists; choose another place with -o"):
        minimize(run.folder, 1, tmp_path / "taken", silent)


def with_texts():
    """A model that passes texts on beside numbers."""
    texts, x = texts_ops.parameter([2], ov.Type.string, name="texts"), ops.parameter([3], np.float32, name="x")
    packed = texts_ops.string_tensor_pack(*texts_ops.string_tensor_unpack(texts).outputs())
    return ov.Model([ops.result(packed), ops.result(ops.relu(x, name="relu"))], [texts, x])


VALUES = """
import sys
names = {"__name__": "__main__", "__file__": sys.argv[1]}
try:
    exec(open(sys.argv[1], encoding="utf-8").read(), names)
except SystemExit:
    print([array.tolist() for array in names["expected"]])
"""


@pytest.mark.parametrize("kind", ["bf16", "u4", "i64", "boolean"])
def test_a_program_keeps_values_of_types_that_numpy_has_not(kind, tmp_path):
    x = ops.parameter([3], getattr(ov.Type, kind), name="x")
    model = ov.Model([ops.result(x, name="as it is"), ops.result(ops.convert(x, "f32"), name="as f32")], [x])
    for op in model.get_ops():
        op.get_rt_info()[STORED_AFFINITY] = "CPU"
    ov.save_model(model, tmp_path / MODEL)
    np.savez(tmp_path / INPUTS, x=as_array(as_tensor(x.output(0), np.array([0, 1, 1], np.float32))))
    graph = read_graph(tmp_path / MODEL)
    what = Reproduction(ErrorKind.CRASH, "it crashed", [Device("CPU", "CPU")], 1e-3)
    write_reproduction(tmp_path, what, {}, graph, dict.fromkeys(graph.names, "CPU"))
    command = [sys.executable, "-c", VALUES, tmp_path / PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == str([[0.0, 1.0, 1.0]] * 2), done.stderr


@pytest.mark.parametrize("limit", [1e-3, float("inf")])
def test_a_program_leaves_outputs_that_are_texts_out(limit, tmp_path):
    model = with_texts()
    for op in model.get_ops():
        op.get_rt_info()[STORED_AFFINITY] = "CPU"
    ov.save_model(model, tmp_path / MODEL)
    np.savez(tmp_path / INPUTS, texts=np.array(["one", "two"]), x=np.array([1, -1, 2], np.float32))
    graph = read_graph(tmp_path / MODEL)
    what = Reproduction(ErrorKind.CRASH, "it crashed", [Device("CPU", "CPU")], limit)
    write_reproduction(tmp_path, what, {}, graph, dict.fromkeys(graph.names, "CPU"))
    done = subprocess.run([sys.executable, tmp_path / PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "largest relative output error: 0.0"), done.stderr


def test_a_program_prints_names_in_any_encoding(tmp_path, monkeypatch):
    x = ops.parameter([3], np.float32, name="x")
    model = ov.Model([ops.relu(x, name="入力")], [x])
    for op in model.get_ops():
        op.get_rt_info()[STORED_AFFINITY] = "CPU"
    ov.save_model(model, tmp_path / MODEL)
    np.savez(tmp_path / INPUTS, x=np.array([1, -1, 2], np.float32))
    graph = read_graph(tmp_path / MODEL)
    what = Reproduction(ErrorKind.CRASH, "it crashed", [Device("CPU", "CPU")], 1e-3)
    write_reproduction(tmp_path, what, {}, graph, dict.fromkeys(graph.names, "CPU"))
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = subprocess.run([sys.executable, tmp_path / PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "Relu \\u5165\\u529b on CPU"), done.stderr
