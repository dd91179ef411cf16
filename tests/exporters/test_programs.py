"""The programs run: Python's without ovplace, C++'s after a build with what its folder holds."""

import ast
import shutil
import subprocess
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops
from openvino import opset15

from ovplace.core.device import Device
from ovplace.errors import DeviceError
from ovplace.exporters import cpp, python
from ovplace.exporters.cpp import _quoted
from tests.exporters.conftest import NASTY, place, placed, run_python

RUNNER = """
import runpy, sys
sys.modules["ovplace"] = None  # an import of it fails
sys.argv = sys.argv[1:2]
names = runpy.run_path(sys.argv[0])
import numpy as np
x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
np.save("out.npy", names["compiled"]([x])[0])
"""


def test_python_needs_no_ovplace_and_may_be_moved(nasty, tmp_path, outputs):
    for _ in range(2):  # the folder may be there
        written = python.Exporter(python.Config()).write(nasty, tmp_path / "new" / "out")
    moved = shutil.move(tmp_path / "new" / "out", tmp_path / f"moved {NASTY.replace('/', '-')}")
    done = run_python("-c", RUNNER, Path(moved) / written[0].name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "output 0: f32 [1, 4]\n"
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), outputs)


@pytest.mark.parametrize("form", [python, cpp])
def test_a_variant_without_a_plugin_is_one_clear_error(form, tmp_path):
    folder = placed(tmp_path / "run", [Device("CPU", "CPU"), Device("TEMPLATE_A", "TEMPLATE")], "TEMPLATE_A")
    with pytest.raises(DeviceError, match=r"^there is no plugin for TEMPLATE in this OpenVINO; export the run on the"):
        form.Exporter(form.Config()).write(folder, tmp_path / "out")


def test_python_takes_the_model_from_another_folder(nasty, tmp_path):
    program = python.Exporter(python.Config()).write(nasty, tmp_path / "out")[0]
    alone = shutil.copyfile(program, tmp_path / "alone.py")
    assert run_python(alone, tmp_path / "out").stdout == "output 0: f32 [1, 4]\n"


def test_only_the_emulated_gpu_needs_ovplace(nasty, emulated, tmp_path):
    first = python.Exporter(python.Config()).write(nasty, tmp_path / "one")[0].read_text()
    second = python.Exporter(python.Config()).write(emulated, tmp_path / "two")[0].read_text()
    assert "import ovplace" not in first
    assert imported(first) == ["sys", "pathlib", "openvino"]
    assert imported(second) == ["sys", "pathlib", "ovplace", "openvino"]
    assert second.index("ovplace.enable_emulated_gpu()") < second.index("import openvino")
    assert "HETERO:CPU,GPU" in second
    assert not cpp.Exporter(cpp.Config()).limits(nasty)
    (said,) = cpp.Exporter(cpp.Config()).limits(emulated)
    assert "emulated" in said
    program, build = (path.read_text() for path in cpp.Exporter(cpp.Config()).write(nasty, tmp_path / "four")[:2])
    assert program.startswith("// Runs a model placed by ovplace")
    assert build.startswith("# cmake -S . -B build && cmake --build build && build/infer\n")
    assert "by default it is the current one.\n#include" in program
    said = cpp.Exporter(cpp.Config()).write(emulated, tmp_path / "three")[0].read_text()
    assert "is the current one.\n//\n// This placement was measured with the emulated GPU" in said


def imported(program):
    """Return the modules that a program imports, in order."""
    found = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in found]


@pytest.mark.parametrize("exporter", [python.Exporter, cpp.Exporter])
def test_no_path_of_this_machine_is_in_an_export(exporter, nasty, tmp_path):
    for path in exporter(None).write(nasty, tmp_path / "out"):
        content = path.read_bytes()
        for folder in (nasty.parent, tmp_path):
            assert str(folder).encode() not in content, path


def test_c_strings_hold_any_text():
    assert _quoted('a"b\\c?é\n~\x7f') == '"a\\042b\\134c\\077\\303\\251\\012~\\177"'


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    """Return a placement of a model one of whose inputs is a number of elements."""
    x, k = ops.parameter([1, 4], np.float32, name="x"), ops.parameter([], np.int64, name="k")
    top = ops.topk(x, k, axis=1, mode="max", sort="value")
    folder = tmp_path_factory.mktemp("counting") / "run"
    return place(ov.Model([ops.result(top.output(0))], [x, k]), folder, [Device("CPU", "CPU")])


@pytest.fixture(scope="module")
def built(nasty, tmp_path_factory):
    """Return the exported folder with the built program, and the program."""
    if not (shutil.which("g++") and shutil.which("cmake")):
        pytest.skip("no C++ compiler, or no CMake")
    from openvino.utils import get_cmake_path

    folder = tmp_path_factory.mktemp("cpp")
    cpp.Exporter(cpp.Config()).write(nasty, folder / "out")
    build = folder / "out" / "build"
    configure = ["cmake", "-S", folder / "out", "-B", build, f"-DOpenVINO_DIR={get_cmake_path()}"]
    for command in ([*configure, "-DCMAKE_CXX_FLAGS=-Wall -Werror"], ["cmake", "--build", build]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out", build / "infer"


@pytest.mark.slow
def test_the_cpp_program_infers(built):
    folder, program = built
    done = subprocess.run([program, folder], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("output 0: f32 [1,4]\n", 0), done.stderr
    assert subprocess.run([program], cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_the_cpp_program_takes_a_number_of_elements_as_one(built, counting):
    done = subprocess.run([built[1], counting], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("output 0: f32 [1,1]\n", 0), done.stderr


@pytest.mark.slow
def test_the_cpp_program_says_what_is_wrong(built, tmp_path):
    _, program = built
    done = subprocess.run([program, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "placed.xml" in done.stderr


def test_a_variant_without_properties_is_only_registered(tmp_path):
    folder = placed(tmp_path / "run", [Device("CPU", "CPU"), Device("CPU_B", "CPU")], "CPU_B")
    for exporter, name in ((python, "infer.py"), (cpp, "main.cpp")):
        exporter.Exporter(exporter.Config()).write(folder, tmp_path / name)
        text = (tmp_path / name / name).read_text(encoding="utf-8")
        assert text.count("core.register_plugin(") == 1, name
        assert "core.set_property(" not in text, name


def test_a_variant_is_registered_with_its_properties(tmp_path):
    two = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": "1"}
    folder = placed(tmp_path / "run", [Device("CPU", "CPU"), Device("CPU_B", "CPU", two)], "CPU_B")
    expected = {
        python: (
            "core.register_plugin('openvino_intel_cpu_plugin', 'CPU_B')",
            f"core.set_property('CPU_B', {two})",
            "compiled = core.compile_model(model, 'HETERO:CPU,CPU_B')",
        ),
        cpp: (
            'core.register_plugin("openvino_intel_cpu_plugin", "CPU_B");',
            'core.set_property("CPU_B", ov::AnyMap{{"INFERENCE_PRECISION_HINT", "f32"}, {"NUM_STREAMS", "1"}});',
            'auto compiled = core.compile_model(model, "HETERO:CPU,CPU_B");',
        ),
    }
    for exporter, calls in expected.items():
        program = exporter.Exporter(exporter.Config()).write(folder, tmp_path / exporter.__name__)[0]
        lines = [line.strip() for line in program.read_text(encoding="utf-8").splitlines()]
        assert [line for line in lines if line in calls] == list(calls)


def test_texts_are_left_empty(tmp_path):
    texts = ops.parameter([2], ov.Type.string, name="texts")
    begins, ends, symbols = opset15.string_tensor_unpack(texts).outputs()
    folder = place(ov.Model([begins, ends, symbols], [texts]), tmp_path / "run", [Device("CPU", "CPU")])
    program = python.Exporter(python.Config()).write(folder, tmp_path / "out")[0]
    done = run_python("-W", "error", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "output 0: i32 [2]"


def test_a_number_of_elements_is_one(counting, tmp_path):
    program = python.Exporter(python.Config()).write(counting, tmp_path / "out")[0]
    done = run_python(program)
    assert (done.stdout, done.returncode) == ("output 0: f32 [1, 1]\n", 0), done.stderr
