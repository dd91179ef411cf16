"""Bad input: one line on standard error, the right exit code, nothing on standard output, no traceback."""

import errno
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.cli.arguments.placement_file import read_placement
from ovplace.devices import discover
from ovplace.errors import BackendError
from ovplace.measuring.process_pool import ProcessPool
from ovplace.testing.models import TINY


def fails(done, code, *words):
    assert done.code == code, done.err
    assert done.out == ""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("Error: ")
    for word in words:
        assert word in lines[0]


def dynamic(path):
    x = ops.parameter(ov.PartialShape([-1, 8]), np.float32, name="x")
    x.output(0).set_names({"x"})
    ov.save_model(ov.Model([ops.result(ops.relu(x))], [x]), path, compress_to_fp16=False)
    return path


def text_model(tmp_path, tiny):
    path = tmp_path / "text.xml"
    path.write_text("hello")
    return [path], "text.xml"


def missing(tmp_path, tiny):
    return [tmp_path / "nowhere.xml"], "does not exist"


def recipe_name(tmp_path, tiny):
    return ["siren"], "ovplace models build siren"


def truncated(tmp_path, tiny):
    path = tmp_path / "cut.xml"
    path.write_bytes(tiny.read_bytes())
    path.with_suffix(".bin").write_bytes(tiny.with_suffix(".bin").read_bytes()[:40])
    return [path], "cut.bin"


def no_weights(tmp_path, tiny):
    path = tmp_path / "alone.xml"
    path.write_bytes(tiny.read_bytes())
    return [path], "alone.bin"


def unsupported(tmp_path, tiny):
    node = onnx.helper.make_node("NoSuchOperation", ["x"], ["y"], domain="org.example")
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("org.example", 1)]
    path = tmp_path / "strange.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets), path)
    return [path], "NoSuchOperation"


def dynamic_shape(tmp_path, tiny):
    return [dynamic(tmp_path / "dynamic.xml")], "--shape 'x[?,8]'"


def wrong_rank(tmp_path, tiny):
    return [dynamic(tmp_path / "dynamic.xml"), "--shape", "x[1,2,3]"], "3 dimensions"


def wrong_input(tmp_path, tiny):
    return [dynamic(tmp_path / "dynamic.xml"), "--shape", "y[1,8]"], "'y'"


def unreadable_shape(tmp_path, tiny):
    return [tiny, "-shape", "x[1,"], "is not understood"


def impossible_shape(tmp_path, tiny):
    return [tiny, "--shape", "[1,5,8,8]"], "does not accept"


MODELS = {
    1: [text_model, missing, recipe_name, truncated, no_weights, unsupported, dynamic_shape, impossible_shape],
    2: [wrong_rank, wrong_input, unreadable_shape],
}


COMMANDS = (("inspect",), ("optimize", "-q"), ("optimize", "--dry-run"))
CASES = [(code, case) for code, cases in MODELS.items() for case in cases]


@pytest.mark.parametrize(
    ("code", "case", "command"),
    [
        # Each case costs the start of a process: one of the commands in turn, and all by `make test-slow`.
        pytest.param(code, case, command, marks=() if number % 3 == place else pytest.mark.slow)
        for number, (code, case) in enumerate(CASES)
        for place, command in enumerate(COMMANDS)
    ],
)
def test_models(ovplace, tmp_path, tiny, code, case, command):
    arguments, word = case(tmp_path, tiny)
    folder = ("-o", tmp_path / "run") if command[0] == "optimize" else ()
    fails(ovplace(*command, *arguments, *folder), code, word)
    assert not (tmp_path / "run" / "result.json").exists()


OPTIONS = {
    "unknown device": (1, ["-d", "TPU"], "'TPU' is not on this machine"),
    "unreadable device": (2, ["-d", "CPU{"], "cannot read device"),
    "meta device": (2, ["-d", "AUTO:CPU"], "AUTO"),
    "unknown placer": (2, ["--placer", "cutt"], "did you mean 'cut'?"),
    "unknown coarsener": (2, ["--coarsener", "x"], "coarsener 'x'"),
    "unknown backend": (2, ["--backend", "x"], "backend 'x'"),
    "budget 0": (2, ["--budget", "0"], "budget must be at least 1, got 0"),
    "budget text": (2, ["--budget", "many"], "'many'"),
    "time": (2, ["--time", "soon"], "write 90s, 10m or 1h30m"),
    "negative seed": (2, ["--seed", "-1"], "seed"),
    "unknown key": (2, ["--set", "search.budgets=3"], "search.budgets"),
    "unknown section": (2, ["--set", "serch.budget=3"], "serch"),
    "no value": (2, ["--set", "budget"], "section.key=value"),
    "wrong type": (2, ["--set", "search.budget=x"], "search.budget"),
    "contradiction": (2, ["--set", "placer.grid=3", "--set", "placer.grid.x=4"], "an earlier --set, by which 'grid'"),
    "placer's key": (2, ["--placer", "cut", "--set", "placer.gird=3"], "gird"),
    "no config": (2, ["--config", "nowhere.toml"], "nowhere.toml"),
    "missing inputs": (2, ["--input", "nowhere.npz"], "nowhere.npz"),
    "unknown option": (2, ["--bugdet", "3"], "--bugdet", "ovplace optimize --help"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options(ovplace, tmp_path, tiny, case):
    code, arguments, *words = OPTIONS[case]
    fails(ovplace("optimize", tiny, *arguments, "-q", "-o", tmp_path / "run"), code, *words)
    assert not (tmp_path / "run" / "config.toml").exists(), "a mistyped call must not occupy the folder"


def test_what_a_failed_call_prepared_is_not_taken_for_the_next_model(ovplace, tmp_path, tiny, monkeypatch):
    def start(_):
        raise BackendError("no process today")

    monkeypatch.setattr(ProcessPool, "start", start)
    other = tmp_path / "other.xml"
    ov.save_model(TINY["int8_weights"](), other, compress_to_fp16=False)
    for model, kind in ((tiny, "Convolution"), (other, "MatMul")):
        fails(ovplace("optimize", model, "-d", "CPU", "-q", "-o", tmp_path / "run"), 1, "no process today")
        assert kind in {op.get_type_name() for op in ov.Core().read_model(tmp_path / "run" / "placed.xml").get_ops()}


@pytest.mark.parametrize("text", ["budget = ", "[search\n", "budget = 3", "\x00"])
def test_bad_toml(ovplace, tmp_path, tiny, text):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    fails(ovplace("optimize", tiny, "--config", path, "-o", tmp_path / "run"), 2, "bad.toml")


@pytest.mark.parametrize("folder", ["{file}/run", "/proc/ovplace"])
def test_a_folder_that_cannot_be_written(ovplace, tmp_path, tiny, folder):
    file = tmp_path / "file"
    file.write_text("")
    fails(ovplace("optimize", tiny, "-q", "-o", folder.format(file=file)), 1, "choose another with -o")


@pytest.mark.parametrize("arguments", [[], ["nothing"]])
def test_commands(ovplace, arguments):
    done = ovplace(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback (most" not in done.err


def test_export_of_what_is_not_finished(ovplace, tmp_path, finished):
    fails(ovplace("export", tmp_path / "nowhere", "--to", "ir"), 1, "there is no run folder")
    fails(ovplace("export", tmp_path, "--to", "ir"), 1, "holds no finished run")
    fails(ovplace("export", finished[0], "--to", "ir", "-o", finished[0]), 2, "choose another folder")
    fails(ovplace("export", finished[0], "--to", "netron", "-o", tmp_path / "x.onnx"), 2, "must end in .xml")
    fails(ovplace("export", finished[0], "--to", "dot", "-o", "/proc/x/y.dot"), 1, "choose another place")
    fails(ovplace("export", finished[0], "--to", "pdf"), 2, "'pdf'")


def test_another_run_in_the_folder(ovplace, tiny, finished, quick):
    done = ovplace("optimize", tiny, "-q", "-o", finished[0], *quick, "--seed", "5")
    fails(done, 2, "holds another run (search.seed differs)")


def test_placements_that_do_not_fit(ovplace, tmp_path, finished, tiny, quick):
    table = json.loads((finished[0] / "placement.json").read_text())
    other = tmp_path / "other.xml"
    ov.save_model(TINY["int8_weights"](), other, compress_to_fp16=False)
    measure = ["measure", "-q", *quick[:2], "--placement"]
    fails(ovplace(*measure, finished[0] / "placement.json", other), 1, "is of another model")
    (tmp_path / "npu.json").write_text(json.dumps(dict.fromkeys(table, "NPU")))
    fails(ovplace(*measure, tmp_path / "npu.json", tiny), 1, "'NPU'", "-d")
    (tmp_path / "list.json").write_text("[1]")
    fails(ovplace(*measure, tmp_path / "list.json", tiny), 1, "flat JSON object")
    fails(ovplace(*measure, tmp_path / "none.json", tiny), 1, "none.json", "give the placement.json of a run")
    (tmp_path / "twice.json").write_text(json.dumps(table)[:-1] + ', "x": "GPU"}')
    fails(ovplace(*measure, tmp_path / "twice.json", tiny), 1, "it names 'x' twice", "correct it")


def test_a_placement_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "marked.json").write_text('{"a": "CPU"}', encoding="utf-8-sig")
    assert read_placement(tmp_path / "marked.json") == {"a": "CPU"}


@pytest.mark.parametrize("command", ["show", "report", "explain"])
def test_a_name_that_no_file_has(ovplace, command):
    fails(ovplace(command, "x" * 300), 2, "cannot look up the", "File name too long; check the path")


@pytest.mark.parametrize("command", ["show", "export", "check", "report"])
def test_a_file_in_place_of_the_run_folder(ovplace, finished, command):
    options = ["--to", "json"] if command == "export" else []
    said = f"is a file, not a run folder; give the folder it is in: '{finished[0]}'"
    fails(ovplace(command, finished[0] / "placed.xml", *options), 1, said)


def test_models_to_build(ovplace, tmp_path):
    fails(ovplace("models", "build", "sirene", "-o", tmp_path), 2, "unknown model 'sirene'")
    fails(ovplace("models", "build", "siren", "-o", tmp_path, "--set", "widht=3"), 2, "widht")
    fails(ovplace("models", "build", "siren", "-o", tmp_path, "--set", "width"), 2, "option=value")
    fails(ovplace("models", "build", "siren", "-q", "-o", "/proc/x"), 1, "choose another folder")


@pytest.mark.parametrize(("name", "option"), [("demo", "size=0"), ("demo", "size=-3"), ("decoder", "heads=7"),
                                              ("demo", "heads=0"), ("decoder", "past=-1")])  # fmt: skip
def test_a_model_that_cannot_be_built(ovplace, tmp_path, name, option):
    done = ovplace("models", "build", name, "-q", "-o", tmp_path, "--set", option)
    fails(done, 2, f"'{name}' cannot be built with {option}: ", "ovplace models list --json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [("config", "show"), ("config", "show", "--json"), ("--help",)])
def test_the_output_cannot_be_written(program, arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    seen = SimpleNamespace(code=done.returncode, out="", err=done.stderr)
    fails(seen, 1, "cannot write the output: No space left on device; make room")


def test_outputs_that_are_never_the_same(ovplace, tmp_path, quick):
    x = ops.parameter([1, 64], np.float32, name="x")
    drawn = ops.random_uniform(
        ops.constant([1, 64]), ops.constant(0.0, np.float32), ops.constant(1.0, np.float32), "f32"
    )
    path = tmp_path / "random.xml"
    ov.save_model(ov.Model([ops.result(ops.add(x, drawn))], [x]), path, compress_to_fp16=False)
    done = ovplace("optimize", path, *quick, "-q", "-o", tmp_path / "run")
    fails(done, 1, "draws random numbers (RandomUniform)", "--max-error")


def without_a_cause():
    raise MemoryError


def hidden_by_c_code():
    raise SystemError("returned a result with an exception set") from MemoryError()


def without_a_lock():
    raise RuntimeError("can't allocate lock")


def without_a_tensor():
    import torch

    torch.empty(2**60, dtype=torch.uint8)


def beyond_64_bits():
    import torch

    torch.empty(2**62, 2**10)


def of_more_digits():
    import torch

    torch.empty(10**30)


def beyond_all_arrays():
    np.zeros((2**40, 2**40))


def of_a_size_beyond():
    np.arange(10**30)


def of_more_digits_than_a_dimension():
    np.zeros(10**30)


NO_TENSOR = [without_a_tensor, beyond_64_bits, of_more_digits]
NO_ARRAY = [beyond_all_arrays, of_a_size_beyond, of_more_digits_than_a_dimension]


@pytest.mark.parametrize("broken", [without_a_cause, hidden_by_c_code, without_a_lock, *NO_TENSOR, *NO_ARRAY])
def test_there_is_no_memory_left(ovplace, monkeypatch, broken):
    monkeypatch.setattr(discover, "discover", lambda *_: broken())
    fails(ovplace("devices"), 1, "out of memory", "repeat the same command")


def test_what_nobody_expected(ovplace, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("in the\nmiddle")

    monkeypatch.setattr(discover, "discover", broken)
    fails(ovplace("devices"), 1, "internal error: ZeroDivisionError: in the middle", "--debug")
    for arguments in (("--debug", "devices"), ("devices", "--debug")):
        done = ovplace(*arguments)
        assert done.code == 1
        assert "Traceback" in done.err


def test_a_path_that_the_system_refuses_where_nobody_expected_it(ovplace, monkeypatch):
    def broken(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "/closed/file")

    monkeypatch.setattr(discover, "discover", broken)
    fails(ovplace("devices"), 1, "cannot use '/closed/file': Permission denied; check the path and its permissions")


def test_an_error_is_one_line_whatever_stands_in_a_name(ovplace, tmp_path):
    done = ovplace("inspect", tmp_path / ("a\x1b[31m\n" + "x" * 100 + ".xml"))
    fails(done, 1, "a\\x1b[31m x")
    done = ovplace("config", "show", "--set", "x" * 100_000)
    fails(done, 2, "x [...] x")
    assert len(done.err) < 2100


def test_interrupted_anywhere(ovplace, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(discover, "discover", stopped)
    done = ovplace("devices")
    assert (done.code, done.out, done.err.strip()) == (130, "", "Stopped")
