"""A whole run: with the fake backend in a measuring process, and once with the real runtime."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
import torch
from openvino import opset13

import ovplace
from ovplace.api.options import SearchOptions
from ovplace.config.schema import SearchConfig
from ovplace.errors import ConfigError, InterruptedRunError, ModelError, NotReachedError, StoreError, UsageError
from ovplace.session.events import Progress
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder
from ovplace.testing import fake_backend, models
from ovplace.testing.slow import slow_except
from tests.killed_runs import killed_after
from tests.whole_runs import PAIR, QUICK

FILES = {"config.toml", "run.db", "result.json", "placement.json", "placed.xml", "placed.bin"}


@pytest.fixture
def model(tmp_path):
    ov.save_model(models.residual(), tmp_path / "model.xml")
    return tmp_path / "model.xml"


def optimize(model, folder, *settings, **search):
    given = {"device": PAIR, "placer": "random", "budget": 6, "backend": fake_backend.NAME, **search}
    log = f"backend.log={folder.parent / 'log'}"
    own = (log, *settings) if given["backend"] == fake_backend.NAME else settings
    return ovplace.optimize(model, folder, settings=(*QUICK, *own), **given)


def measured(folder):
    return Counter(line.split()[1] for line in (folder.parent / "log").read_text().splitlines())


def asked(folder):
    store = RunStore(folder / "run.db")
    hashes = [trial.placement.hash for trial in store.trials()]
    store.close()
    return hashes


def processes(folder):
    """Return the processes that still measure for this test."""
    pids = {line.split()[0] for line in (folder.parent / "log").read_text().splitlines()}
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def ended(folder, within_s=30.0):
    end = time.monotonic() + within_s
    while processes(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return not processes(folder)


def test_a_run_leaves_its_files_and_a_model_that_loads(model, tmp_path):
    done = optimize(model, tmp_path / "run", "backend.split=0.8")
    assert done.verdict.status == "faster"
    assert done.verdict.ratio.value == pytest.approx(0.8)
    assert {path.name for path in done.folder.iterdir()} >= FILES
    assert not list(done.folder.glob("*.tmp"))
    assert json.loads((done.folder / "result.json").read_text()) == done.to_json()
    table = json.loads((done.folder / "placement.json").read_text())
    assert Counter(table.values()) == Counter(done.best.ops_per_device)
    assert set(ovplace.load(done.folder).get_property("EXECUTION_DEVICES")) == {"CPU_A", "CPU_B"}
    search = done.search
    assert search.trials == search.measured + search.cached
    assert ended(done.folder)


def test_the_answer_is_a_baseline_where_none_is_beaten(model, tmp_path):
    done = optimize(model, tmp_path / "run", "backend.split=1.2")
    assert done.verdict.status == "baseline"
    assert done.best.origin == "CPU_A"
    assert set(json.loads((done.folder / "placement.json").read_text()).values()) == {"CPU_A"}
    with pytest.raises(NotReachedError, match="no placement was shown to be faster") as caught:
        optimize(model, tmp_path / "run", "backend.split=1.2", require_gain=True)
    assert caught.value.result.best == done.best


def test_a_second_call_measures_nothing_and_says_the_same(model, tmp_path):
    first = optimize(model, tmp_path / "run")
    before = measured(first.folder)
    second = optimize(model, tmp_path / "run")
    assert measured(first.folder) == before
    for part in ("best", "verdict", "baselines", "accuracy"):
        assert second.to_json()[part] == first.to_json()[part]


def test_a_model_in_memory_is_placed_and_continued_like_a_file(tmp_path):
    folder = tmp_path / "run"
    first = optimize(models.residual(), folder, "backend.split=0.8")
    before = measured(folder)
    mapped = ov.Core().read_model(folder / "given.xml")  # from the very file that is saved again
    assert optimize(mapped, folder, "backend.split=0.8").best == first.best
    assert measured(folder) == before
    assert set(ovplace.load(folder).get_property("EXECUTION_DEVICES")) == {"CPU_A", "CPU_B"}


def test_another_model_in_memory_is_refused_and_the_run_kept(tmp_path):
    model = models.residual()
    done = optimize(model, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in done.folder.glob("*given.*")}
    with pytest.raises(ConfigError, match="began with another model"):
        optimize(models.loose_ends(), tmp_path / "run")
    assert {path.name: path.read_bytes() for path in done.folder.glob("*given.*")} == before
    assert optimize(model, tmp_path / "run").best == done.best


def test_a_model_in_memory_is_checked(tmp_path):
    with pytest.raises(UsageError, match="needs a run folder"):
        ovplace.optimize(models.residual())
    with pytest.raises(UsageError, match="got int"):
        ovplace.optimize(7, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_in_memory_that_cannot_be_saved_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot save the model"):
        ovplace.optimize(models.residual(), tmp_path / "file" / "run")


def test_ctrl_c_saves_and_the_same_call_continues(model, tmp_path):
    whole = optimize(model, tmp_path / "whole" / "run")

    def interrupt(progress: Progress) -> None:
        if progress.phase == "search" and progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="the same call continues"):
        optimize(model, tmp_path / "run", listener=interrupt)
    assert ended(tmp_path / "run")
    assert asked(tmp_path / "run") == asked(whole.folder)[:3]
    assert optimize(model, tmp_path / "run").verdict.status == whole.verdict.status
    assert asked(tmp_path / "run") == asked(whole.folder)


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
import importlib.util
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
say = lambda progress: (print(progress.phase, flush=True), sys.stdin.readline())
done = program.optimize(Path(sys.argv[2]), Path(sys.argv[3]), "backend.delay_s=0.02", budget=12, listener=say)
print("verdict", done.verdict.status, flush=True)
"""


@pytest.mark.slow  # tests/search/faults/test_resume.py kills runs of the fake backend
def test_a_run_killed_at_any_moment_continues_and_leaves_no_process(model, tmp_path):
    whole = optimize(model, tmp_path / "whole" / "run", "backend.delay_s=0.02", budget=12)
    folder, rng, kills = tmp_path / "run", random.Random(1), 0
    command = [sys.executable, "-c", PROGRAM, __file__, str(model), str(folder)]
    while True:
        said = killed_after(command, rng.randint(3, 12), is_counted, rng.uniform(0, 0.05))
        if said.startswith("verdict"):
            break
        kills += 1
        assert ended(folder)
    assert kills
    assert asked(folder) == asked(whole.folder)
    twice = measured(folder) - measured(whole.folder)
    assert sum(twice.values()) <= 3 * kills  # the candidates of the request that was under way
    assert set(ovplace.load(folder).get_property("EXECUTION_DEVICES")) <= {"CPU_A", "CPU_B"}


def is_counted(said):
    return said.strip() in ("search", "finalists", "final comparison")


def test_a_folder_of_another_run_is_refused_and_kept(model, tmp_path):
    first = optimize(model, tmp_path / "run")
    result = (first.folder / "result.json").read_bytes()
    for change in ({"seed": 1}, {"placer": "cut"}, {"device": "CPU"}):
        with pytest.raises(ConfigError, match=f"holds another run .*{next(iter(change))}"):
            optimize(model, tmp_path / "run", **change)
    assert (first.folder / "result.json").read_bytes() == result
    more = optimize(model, tmp_path / "run", budget=9)
    assert more.search.trials >= 9


def test_a_run_of_a_model_that_has_changed_since_is_refused(model, tmp_path):
    folder = tmp_path / "run"
    optimize(model, folder)
    before = (folder / "result.json").read_bytes()
    weights = model.with_suffix(".bin")
    weights.write_bytes(bytes(reversed(weights.read_bytes())))
    with pytest.raises(ConfigError, match="has changed since"):
        optimize(model, folder)
    assert (folder / "result.json").read_bytes() == before


@pytest.mark.parametrize("torn", slow_except(["new-config.toml"], ["new-config.toml", "placed.xml"]))
def test_half_a_file_of_a_killed_set_up_is_no_obstacle(model, tmp_path, torn):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / torn).write_text("<?xml")
    assert optimize(model, folder, "backend.split=0.8").verdict.status == "faster"


def test_a_damaged_store_is_one_clear_error(model, tmp_path):
    done = optimize(model, tmp_path / "run")
    (done.folder / "run.db").write_bytes(b"no database, just some words\n" * 300)
    for name in ("run.db-wal", "run.db-shm"):
        (done.folder / name).unlink(missing_ok=True)
    with pytest.raises(StoreError, match="cannot use the run store"):
        optimize(model, tmp_path / "run")


def test_a_folder_that_cannot_be_made(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the run folder"):
        optimize(model, tmp_path / "file" / "run")


def test_unknown_names_are_refused_before_anything_is_done(model, tmp_path):
    for wrong in ({"placer": "absent"}, {"backend": "no.such.module"}, {"coarsener": "x"}):
        with pytest.raises(UsageError, match="unknown"):
            optimize(model, tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_one_device_leaves_nothing_to_search(model, tmp_path):
    done = optimize(model, tmp_path / "run", device="CPU")
    assert (done.verdict.status, done.best.origin, done.search.trials) == ("baseline", "CPU", 0)


def test_the_real_runtime(model, tmp_path):
    done = optimize(model, tmp_path / "run", "measure.min_time_ms=1", backend="openvino", budget=3)
    assert done.verdict.status in ("faster", "same", "baseline")
    names = [baseline.name for baseline in done.baselines]
    assert {"CPU_A", "CPU_B", "HETERO:CPU_A,CPU_B (automatic)"} <= set(names)
    assert all(baseline.error is None for baseline in done.baselines)
    assert done.accuracy.outputs[0].max_rel < 1e-3
    compiled = ovplace.load(done.folder)
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    expected = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(x)[0]
    np.testing.assert_allclose(compiled(x)[0], expected, rtol=1e-3, atol=1e-3)


def test_options_are_written_as_python_has_them(model, tmp_path):
    alone = {"placer": "single_device"}  # nothing is compared, for which there would be five minutes
    done = optimize(
        model, tmp_path / "run", device=PAIR.split(","), shape=[1, 3, 8, 8], time="5m", rigorous=False, **alone
    )
    config = done_config(done)
    assert (config.device, config.shape, config.time_s) == (PAIR, "[1,3,8,8]", 300.0)
    given = {"device": PAIR, "shape": {"x": (1, 3, 8, 8)}, "time": 300, **alone}
    assert optimize(model, tmp_path / "named", **given).device_names == done.device_names
    assert done_config(ovplace.open_run(tmp_path / "named")).shape == "x[1,3,8,8]"


def done_config(run):
    return RunFolder(run.folder).read_config().search


@pytest.mark.parametrize(("wrong", "said"), [
    ({"zzz": 5}, "unknown option 'zzz'; there are: backend, batch, budget"),
    ({"time": 0}, "a duration must be positive, got '0'; leave it out for the default"),
    ({"time": "soon"}, "'soon' is not a duration; write 90s, 10m or 1h30m"),
    ({"budget": 0}, "budget must be at least 1, got 0"),
    ({"max_error": -1}, "max_error must not be negative, got -1"),
    ({"shape": 5}, "shape must be a list of numbers or a mapping from names to lists, got 5; write shape="),
    ({"shape": {"x": None}}, "shape must be a list of numbers or a mapping from names to lists, got {'x': None}"),
    ({"device": 5}, "device must be a string or a list of strings, got 5; write device="),
    ({"device": [3]}, r"device must be a string or a list of strings, got \[3\]"),
    ({"input": {"x": None}}, "input 'x' is not an array, got NoneType; give a numpy array of numbers"),
    ({"input": {"x": [[1], [1, 2]]}}, "input 'x' is not an array: .*; give a numpy array"),
])  # fmt: skip
def test_a_wrong_option_is_one_clear_line(model, tmp_path, wrong, said):
    with pytest.raises(UsageError, match=said):
        optimize(model, tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("wrong", [3, [3], None])
def test_settings_are_texts(model, tmp_path, wrong):
    for call in (ovplace.optimize, ovplace.measure, ovplace.explain):
        with pytest.raises(UsageError, match=r"settings must be strings, such as .*, got (3|None)"):
            call(model, settings=wrong)


def test_a_single_setting_needs_no_list(model):
    for call in (ovplace.optimize, ovplace.measure, ovplace.explain):
        with pytest.raises(ConfigError, match=r"'search.budget' must be int, got 'x'"):
            call(model, settings="search.budget=x")


@pytest.mark.slow
def test_inputs_may_be_empty_and_have_any_name(tmp_path):
    past, new = (opset13.parameter(ov.PartialShape([1, length, 4]), np.float32) for length in (-1, 2))
    past.output(0).set_names({"past[0]"})
    new.output(0).set_names({"new[0],[1]"})
    model = ov.Model([opset13.result(opset13.relu(opset13.concat([past, new], 1)))], [past, new])
    done = optimize(model, tmp_path / "shape", shape={"past[0]": [1, 0, 4]}, backend="openvino")
    assert done_config(done).shape == "past[0][1,0,4]"
    arrays = {"past[0]": np.ones((1, 0, 4), np.float32), "new[0],[1]": np.ones((1, 2, 4), np.float32)}
    done = optimize(model, tmp_path / "input", input=arrays)
    assert done_config(done).shape == 'past[0][1,0,4],"new[0],[1]"[1,2,4]'


def test_options_are_those_of_the_command_line():
    fields = {field.name for field in dataclasses.fields(SearchConfig)} - {"model", "time_s"}
    assert set(SearchOptions.__annotations__) == fields | {"time"}


def test_a_misspelt_option_is_seen_by_type_checkers_and_refused(model):
    with pytest.raises(UsageError, match="unknown option 'buget'; did you mean 'budget'"):
        ovplace.optimize(model, buget=5)  # type: ignore[call-arg]  # mypy warns if there is nothing to ignore


@pytest.mark.slow
def test_a_converted_network_is_told_how_to_give_its_shape(tmp_path):
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    converted = ov.convert_model(network, example_input=torch.zeros(1, 3, 8, 8))
    with pytest.raises(ModelError, match=r"pass shape='input\[\?,3,\?,\?\]'"):
        optimize(converted, tmp_path / "run")
    done = optimize(converted, tmp_path / "run", shape=[1, 3, 8, 8])
    assert done_config(done).shape == "[1,3,8,8]"


def test_the_example_gives_a_converted_network_its_shape(tmp_path):
    network, example = torch.nn.Conv2d(3, 4, 3), torch.ones(1, 3, 8, 8, requires_grad=True)
    converted = ov.convert_model(network, example_input=example)
    done = optimize(converted, tmp_path / "run", input=example)
    assert done_config(done).shape == "input[1,3,8,8]"
    with np.load(done_config(done).input) as stored:
        np.testing.assert_array_equal(stored["input"], np.ones((1, 3, 8, 8)))
    assert optimize(converted, tmp_path / "run", input=[example]).best == done.best
    with pytest.raises(ConfigError, match="began with other inputs"):
        optimize(converted, tmp_path / "run", input={"input": 2 * example})
    with pytest.raises(UsageError, match="input has 2 arrays, the model 1 inputs"):
        optimize(converted, tmp_path / "other", input=[example, example])


def test_arrays_for_a_file_need_names(model, tmp_path):
    with pytest.raises(UsageError, match="arrays for a model file need names"):
        optimize(model, tmp_path / "run", input=np.ones((1, 3, 8, 8)))
    assert not (tmp_path / "run").exists()
