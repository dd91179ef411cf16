"""The command writes every form; tests/exporters loads each with its consumer."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.commands.export import export, exporter
from ovplace.core.device import Device
from ovplace.errors import UsageError
from ovplace.ir.load import load
from ovplace.ir.placed_model import write_placed
from ovplace.ir.prepare.prepare import prepare
from ovplace.plugins import registry


@pytest.fixture(scope="module")
def split(tiny, tmp_path_factory):
    """Return a folder with a placement on two CPU variants, the relu's half on the second."""
    folder = tmp_path_factory.mktemp("split")
    prepare(tiny, folder / "prepared.xml")
    core = ov.Core()
    names = [op.get_friendly_name() for op in core.read_model(folder / "prepared.xml").get_ordered_ops()]
    table = {name: "CPU_B" if "conv1" in name or "w1" in name else "CPU" for name in names}
    f32 = {"INFERENCE_PRECISION_HINT": "f32"}
    devices = [Device("CPU", "CPU", f32), Device("CPU_B", "CPU", f32)]
    write_placed(folder / "prepared.xml", folder, table, devices, {})
    return folder


@pytest.fixture(scope="module")
def outputs(split):
    return infer(load(split))


def infer(compiled):
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    return compiled([x])[0]


def test_ir_is_loaded_as_the_run_is(ovplace, split, tmp_path, outputs):
    done = ovplace("export", split, "--to", "ir", "-o", tmp_path / "out")
    assert done.code == 0
    assert [Path(line).name for line in done.out.splitlines()] == ["placed.xml", "placed.bin", "placement.json"]
    np.testing.assert_array_equal(infer(load(tmp_path / "out")), outputs)


BROKEN = """
from dataclasses import dataclass
from ovplace.plugins import protocols
@dataclass(frozen=True)
class Config: where: str = ""
class Exporter(protocols.TextExporter):
    def limits(self, folder): return self.fail("limits", ())
    def text(self, folder): return self.fail("text", "")
    def next_step(self, run, written): return self.fail("next_step", "")
    def fail(self, where, otherwise):
        if where == self.config.where: raise ValueError("wrong")
        return otherwise
"""


@pytest.mark.parametrize("where", ["limits", "text", "next_step"])
def test_an_exporter_of_another_package_is_named_in_its_errors(ovplace, split, tmp_path, monkeypatch, where):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "form.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    output = ("-o", tmp_path / "out") if where == "next_step" else ()
    done = ovplace("export", split, "--to", "mine.form", "--set", f"where={where}", *output)
    assert (done.code, done.out) == (2, f"{tmp_path / 'out'}\n" if output else "")
    assert done.err.startswith("Error: the exporter failed: ValueError: wrong; correct mine.form")


def test_forms(ovplace):
    said = " ".join(ovplace("export", "-h").out.split())
    assert all(name in said and registry.summary("exporters", name) in said for name in registry.names("exporters"))
    with pytest.raises(UsageError, match="unknown exporter 'pdf'; there are: blob, cpp"):
        exporter("pdf")


@pytest.mark.parametrize("text", ["foo", "=3", ""])
def test_a_setting_of_another_form_is_named_as_it_is_typed(ovplace, split, text):
    done = ovplace("export", split, "--to", "json", "--set", text)
    assert done.code == 2
    assert f"--set takes KEY=VALUE, a setting of the exporter 'json'; got '{text}'" in done.err


def test_json_is_the_placement(ovplace, split, tmp_path):
    assert json.loads(ovplace("export", split, "--to", "json").out) == json.loads(
        (split / "placement.json").read_text()
    )
    ovplace("export", split, "--to", "json", "-o", tmp_path / "deep" / "p.json")
    assert (tmp_path / "deep" / "p.json").exists()


def test_blob_is_imported(ovplace, split, tmp_path, outputs):
    assert ovplace("export", split, "--to", "blob", "-o", tmp_path / "m.blob").code == 0
    core = ov.Core()
    core.register_plugin("openvino_intel_cpu_plugin", "CPU_B")
    for name in ("CPU", "CPU_B"):  # a blob does not carry them
        core.set_property(name, {"INFERENCE_PRECISION_HINT": "f32"})
    np.testing.assert_array_equal(infer(core.import_model((tmp_path / "m.blob").read_bytes(), "HETERO")), outputs)


def test_netron_copy_still_loads(ovplace, split, tmp_path, outputs):
    done = ovplace("export", split, "--to", "netron", "-o", tmp_path / "view.xml")
    assert done.out.splitlines()[0] == str(tmp_path / "view.xml")
    copy = ov.Core().compile_model(tmp_path / "view.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    np.testing.assert_allclose(infer(copy), outputs, rtol=1e-4, atol=1e-5)


def test_what_a_form_cannot_carry_is_said_beside_the_text(ovplace, split):
    done = ovplace("export", split, "--to", "json")
    assert "registers no variants" in done.err
    assert "CPU_B (CPU with INFERENCE_PRECISION_HINT:f32)" in done.err
    assert json.loads(done.out)


def test_the_program_runs_as_the_command_says(ovplace, split, tmp_path):
    done = ovplace("export", split, "--to", "python", "-o", tmp_path / "my program")
    command = shlex.split(done.err.split("run it with: python ")[1])
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert ran.stdout == "output 0: f32 [1, 4]\n", ran.stderr


def test_a_placement_edited_by_hand_is_refused(ovplace, split, tmp_path):
    folder = shutil.copytree(split, tmp_path / "copy")
    table = json.loads((folder / "placement.json").read_text())
    table.pop(next(iter(table)))
    (folder / "placement.json").write_text(json.dumps(table))
    for form in set(registry.names("exporters")) - {"optuna"}:  # it exports trials, not the placement
        done = ovplace("export", folder, "--to", form, "-o", tmp_path / "x.xml")
        assert done.code == 1, form
        assert "lack a device" in done.err


@pytest.mark.parametrize(
    ("form", "name"),
    [("blob", "placed.bin"), ("optuna", "run.db"), ("json", "result.json"), ("dot", "placed.xml"), ("ir", ".")],
)
def test_no_form_overwrites_the_run_or_another(ovplace, finished, tmp_path, form, name):
    other = shutil.copytree(finished[0], tmp_path / "other")
    own = shutil.copytree(finished[0], tmp_path / "own")
    before = contents(own), contents(other)
    for folder in (own, other):
        done = ovplace("export", own, "--to", form, "-o", folder / name)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), folder
        assert "run" in done.err
    assert (contents(own), contents(other)) == before


def test_a_view_does_not_overwrite_another_run(ovplace, finished, tmp_path):
    other = shutil.copytree(finished[0], tmp_path / "other")
    before = contents(other)
    assert ovplace("export", finished[0], "--to", "netron", "-o", other / "placed.xml").code == 2
    assert contents(other) == before


@pytest.mark.parametrize(("form", "name"), [("ir", "placed.xml"), ("python", "placed.bin"), ("cpp", "placed.xml")])
def test_no_folder_overwrites_the_model_of_the_run(ovplace, finished, tmp_path, form, name):
    run, model = shutil.copytree(finished[0], tmp_path / "run"), tmp_path / "placed.xml"
    said = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(said | {"model": said["model"] | {"path": str(model)}}))
    (tmp_path / name).write_text("mine")
    done = ovplace("export", run, "--to", form, "-o", tmp_path)
    assert (done.code, done.out, (tmp_path / name).read_text()) == (2, "", "mine")
    assert "is the model of the run, which would be lost; choose another place with -o" in done.err


@pytest.mark.parametrize(("form", "suffix"), [("netron", ".xml"), ("blob", ".bin"), ("json", ".xml")])
def test_no_form_overwrites_the_model_of_the_run(ovplace, finished, tmp_path, form, suffix):
    run, model = shutil.copytree(finished[0], tmp_path / "run"), tmp_path / "mine.xml"
    said = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(said | {"model": said["model"] | {"path": str(model)}}))
    target = model.with_suffix(suffix)
    target.write_text("mine")
    done = ovplace("export", run, "--to", form, "-o", target)
    assert (done.code, done.out, target.read_text()) == (2, "", "mine")
    assert f"'{target}' is the model of the run" in done.err


@pytest.mark.parametrize(("form", "name"), [("dot", "mine.data"), ("netron", "mine.xml")])
def test_no_form_overwrites_external_weights_of_the_model(ovplace, finished, tmp_path, form, name):
    run, model, target = shutil.copytree(finished[0], tmp_path / "run"), tmp_path / "mine.onnx", tmp_path / name
    weights = target.with_suffix(".bin") if form == "netron" else target
    model.write_bytes(b"\x0a\x08location\x12" + bytes([len(weights.name)]) + weights.name.encode())
    said = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(said | {"model": said["model"] | {"path": str(model)}}))
    weights.write_text("mine")
    done = ovplace("export", run, "--to", form, "-o", target)
    assert (done.code, done.out, weights.read_text()) == (2, "", "mine")
    assert f"'{weights}' is the model of the run" in done.err


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index"])
def test_no_form_overwrites_a_saved_model(ovplace, finished, tmp_path, name):
    run, target = shutil.copytree(finished[0], tmp_path / "run"), tmp_path / "saved" / name
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    said = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(said | {"model": said["model"] | {"path": str(tmp_path / "saved")}}))
    done = ovplace("export", run, "--to", "dot", "-o", target)
    assert (done.code, done.out, target.read_text()) == (2, "", "mine")
    assert ovplace("export", run, "--to", "dot", "-o", tmp_path / "saved" / "placement.dot").code == 0


@pytest.mark.parametrize("form", ["json", "dot"])
def test_standard_output_gets_the_same_bytes_as_a_file(program, tmp_path, monkeypatch, form):
    x = ops.parameter([1], np.float32, name="entrée 入")
    ov.save_model(ov.Model([ops.relu(x)], [x], "m"), tmp_path / "m.xml")
    table = {op.get_friendly_name(): "CPU" for op in ov.Core().read_model(tmp_path / "m.xml").get_ops()}
    write_placed(tmp_path / "m.xml", tmp_path, table, [Device("CPU", "CPU")], {})
    export(tmp_path, exporter(form), tmp_path / "p.json")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = subprocess.run([*program, "export", tmp_path, "--to", form], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == ((tmp_path / "p.json").read_bytes(), b"")


def test_what_the_encoding_of_the_output_lacks_is_escaped(program, split, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    command = [*program, "export", split, "--to", "json", "-o", tmp_path / "入.json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, str(tmp_path).encode() + b"/\\u5165.json\n"), done.stderr


def test_what_a_killed_export_has_left_is_deleted(split, tmp_path):
    for name in ("p.json", "q.json"):
        (tmp_path / f"{name}.{10**30}.tmp").touch()
    export(split, exporter("json"), tmp_path / "p.json")
    assert {path.name for path in tmp_path.iterdir()} == {"p.json", f"q.json.{10**30}.tmp"}


def contents(folder):
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_limits_are_said_of_what_is_written_only(ovplace, split, tmp_path):
    done = ovplace("export", split, "--to", "json", "-o", tmp_path / "p.txt")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "must end in .json" in done.err
    lines = ovplace("export", split, "--to", "json", "-o", tmp_path / "p.json").err.splitlines()
    assert lines[0].startswith("note: hello_affinity registers no variants")
    assert lines[-1].startswith("load it with: hello_affinity")
