"""Every form of an answer can be used: programs run and compute what the placed model computes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ovplace import api
from ovplace.commands.export import exporter
from ovplace.core.device import Device
from ovplace.errors import UsageError
from ovplace.ir.placed_model import write_placed
from ovplace.ir.prepare.prepare import prepare
from ovplace.plugins import registry

LIBRARIES = Path(ov.__file__).parent / "libs"


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
    return infer(api.load(split))


def infer(compiled):
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    return compiled([x])[0]


def test_ir_is_loaded_as_the_run_is(ovplace, split, tmp_path, outputs):
    done = ovplace("export", split, "--to", "ir", "-o", tmp_path / "out")
    assert done.code == 0
    assert [Path(line).name for line in done.out.splitlines()] == ["placed.xml", "placed.bin", "placement.json"]
    np.testing.assert_array_equal(infer(api.load(tmp_path / "out")), outputs)


def test_forms(ovplace):
    said = " ".join(ovplace("export", "-h").out.split())
    assert all(name in said and registry.summary("exporters", name) in said for name in registry.names("exporters"))
    with pytest.raises(UsageError, match="unknown exporter 'pdf'; there are: blob, cpp"):
        exporter("pdf")


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


def test_netron_copy_shows_devices_and_still_loads(ovplace, split, tmp_path, outputs):
    from xml.etree import ElementTree

    done = ovplace("export", split, "--to", "netron", "-o", tmp_path / "view.xml")
    assert done.out.splitlines()[0] == str(tmp_path / "view.xml")
    table = json.loads((split / "placement.json").read_text())
    layers = ElementTree.parse(tmp_path / "view.xml").findall("./layers/layer")
    assert {layer.get("name"): layer.find("data").get("device") for layer in layers} == table
    copy = ov.Core().compile_model(tmp_path / "view.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    np.testing.assert_allclose(infer(copy), outputs, rtol=1e-4, atol=1e-5)


def test_dot_has_every_operation_and_the_cut(ovplace, split):
    text = ovplace("export", split, "--to", "dot").out
    assert text.startswith("digraph")
    for name in ("conv0", "conv1", "sum"):
        assert f"\\n{name}\\n" in text
    assert text.count("penwidth") == 2, "into conv1 and out of it"
    assert f'label="{4 * 8 * 8 * 4} B"' in text


def test_python_program_runs(ovplace, split, outputs, tmp_path):
    program = ovplace("export", split, "--to", "python").out
    program += (
        "import numpy as np\nx = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)\n"
        "np.save('out.npy', compiled([x])[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), outputs)


@pytest.mark.skipif(not shutil.which("g++") or not (LIBRARIES.parent / "include").exists(), reason="no C++ compiler")
def test_cpp_program_compiles_and_runs(ovplace, split, tmp_path):
    done = ovplace("export", split, "--to", "cpp", "-o", tmp_path / "load.cpp")
    assert done.code == 0
    library = next(LIBRARIES.glob("libopenvino.so*"))
    build = ["g++", "-std=c++17", "-Wall", "-Werror", f"-I{LIBRARIES.parent / 'include'}", "load.cpp", str(library)]
    subprocess.run([*build, "-o", "load"], cwd=tmp_path, check=True)
    environment = os.environ | {"LD_LIBRARY_PATH": str(LIBRARIES)}
    ran = subprocess.run([tmp_path / "load"], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "[1,3,8,8]" in ran.stdout


def test_the_emulated_gpu_is_enabled_by_the_program_and_said_in_the_other(ovplace, tiny, tmp_path):
    prepare(tiny, tmp_path / "prepared.xml")
    core = ov.Core()
    names = [op.get_friendly_name() for op in core.read_model(tmp_path / "prepared.xml").get_ops()]
    write_placed(
        tmp_path / "prepared.xml",
        tmp_path,
        dict.fromkeys(names, "GPU"),
        [Device("GPU", "GPU", emulated=True)],
        {},
    )
    python = ovplace("export", tmp_path, "--to", "python").out
    assert python.index("enable_emulated_gpu") < python.index("import openvino")
    assert "core.compile_model(model, 'GPU')" in python
    assert "emulated GPU" in ovplace("export", tmp_path, "--to", "cpp").out


def test_a_placement_edited_by_hand_is_refused(ovplace, split, tmp_path):
    folder = shutil.copytree(split, tmp_path / "copy")
    table = json.loads((folder / "placement.json").read_text())
    table.pop(next(iter(table)))
    (folder / "placement.json").write_text(json.dumps(table))
    for form in ("ir", "json", "netron", "dot", "python", "cpp"):
        done = ovplace("export", folder, "--to", form, "-o", tmp_path / "x.xml")
        assert done.code == 1, form
        assert "lack a device" in done.err
