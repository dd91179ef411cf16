"""What a program gets from a placed model: the same numbers in another process, or one clear refusal."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ovplace
from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.errors import DeviceError, ModelError, OvplaceError, PlacementError, StoreError
from ovplace.ir import affinity, placed_model
from ovplace.ir.load import _check_present
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.testing import models
from ovplace.testing.placements import later_half

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
LOW = next(
    (
        p
        for c, p in (("BF16", "bf16"), ("FP16", "f16"))
        if c in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    ),
    "f32",
)
VARIANTS = (Device("CPU_LOW", "CPU", {"INFERENCE_PRECISION_HINT": LOW}), Device("CPU_F32", "CPU", F32))

PROGRAM = """
import sys
from pathlib import Path
folder, source, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
import ovplace
if mode == "enabled":
    ovplace.enable_emulated_gpu()
if mode != "at once":
    import openvino as ov
    for path in (source, source, folder / "placed.xml"):
        ov.Core().read_model(path).get_ordered_ops()
import numpy as np
compiled = ovplace.load(folder)
np.save(folder / "there.npy", compiled(np.load(folder / "x.npy"))[0])
"""


def write(folder, devices, model=None):
    """Place a model's halves on two devices, as the end of a run does; return the table."""
    folder.mkdir(exist_ok=True)
    ov.save_model(model or models.residual(), folder / "source.xml", compress_to_fp16=False)
    prepare(folder / "source.xml", folder / "placed.xml")
    graph = read_graph(folder / "placed.xml")
    table = {name: devices[d].name for name, d in zip(graph.names, later_half(graph).tolist(), strict=True)}
    placed_model.write_placed(folder / "placed.xml", folder, table, devices, {"by": "test"})
    return table


def here(folder, devices, table, register):
    """Return the input and what the placement computes in this process."""
    core = ov.Core()
    register(core, devices)
    compiled = affinity.compile_placed(core, core.read_model(folder / "placed.xml"), table)
    x = np.random.default_rng(0).normal(size=tuple(compiled.input(0).shape)).astype(np.float32)
    np.save(folder / "x.npy", x)
    return compiled(x)[0]


def there(folder, mode="after other models"):
    command = [sys.executable, "-c", PROGRAM, str(folder), str(folder / "source.xml"), mode]
    subprocess.run(command, check=True)
    return np.load(folder / "there.npy")


@pytest.mark.parametrize("mode", ["at once", "after other models"])
@pytest.mark.parametrize("name", ["residual", "int8_weights", "shared_scalar"])
def test_another_process_computes_the_same_bits(tmp_path, name, mode):
    from ovplace.devices.variants import register

    table = write(tmp_path, VARIANTS, models.TINY[name]())
    assert len(set(table.values())) == 2
    expected = here(tmp_path, VARIANTS, table, register)
    np.testing.assert_array_equal(there(tmp_path, mode), expected)


WRITER = """
import sys
from pathlib import Path
import ovplace
ovplace.enable_emulated_gpu()
import importlib.util
spec = importlib.util.spec_from_file_location("test_load", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from ovplace.devices.variants import register
folder = Path(sys.argv[2])
devices = (module.emulated_gpu.emulated_device(), module.Device("CPU", "CPU", module.F32))
table = module.write(folder, devices)
module.np.save(folder / "here.npy", module.here(folder, devices, table, register))
"""


@pytest.fixture(scope="module")
def on_the_emulated_gpu(tmp_path_factory):
    if problem := emulated_gpu.why_unavailable():
        pytest.skip(problem)
    folder = tmp_path_factory.mktemp("gpu")
    subprocess.run([sys.executable, "-c", WRITER, __file__, str(folder)], check=True)
    return folder


@pytest.mark.parametrize("mode", ["at once", "enabled"])
def test_the_emulated_gpu_is_found_again(on_the_emulated_gpu, mode):
    np.testing.assert_array_equal(there(on_the_emulated_gpu, mode), np.load(on_the_emulated_gpu / "here.npy"))


def test_the_emulated_gpu_cannot_be_had_when_openvino_is_loaded(on_the_emulated_gpu):
    with pytest.raises(DeviceError, match="must be enabled before openvino is imported"):
        ovplace.load(on_the_emulated_gpu)


def test_the_tables_are_everywhere(tmp_path):
    table = write(tmp_path, VARIANTS)
    assert json.loads((tmp_path / "placement.json").read_text()) == table
    model = ov.Core().read_model(tmp_path / "placed.xml")
    assert {op.get_friendly_name(): op.get_rt_info()["user_dataaffinity"].value for op in model.get_ops()} == table


@pytest.mark.parametrize(
    "device", [{"base": 5}, {"properties": ["f32"]}, {"facts": {"kind": {}}}, {"emulated": "yes"}, {"name": None}]
)
def test_damaged_devices_are_one_line(tmp_path, device):
    table = write(tmp_path, VARIANTS)
    damaged: Any = SimpleNamespace(name="CPU_LOW", to_dict=lambda: {"name": "CPU_LOW", "base": "CPU", **device})
    placed_model.write_placed(tmp_path / "placed.xml", tmp_path, table, [damaged], {})
    with pytest.raises(PlacementError, match=r"cannot read the devices of the model .*; export the run again"):
        ovplace.load(tmp_path)


def test_a_placement_on_one_device_is_that_device(tmp_path):
    table = dict.fromkeys(write(tmp_path, VARIANTS), "CPU_F32")
    placed_model.write_placed(tmp_path / "placed.xml", tmp_path, table, VARIANTS, {})
    assert ovplace.load(tmp_path).get_property("EXECUTION_DEVICES") == ["CPU_F32"]


def test_a_program_may_bring_its_own_core(tmp_path):
    write(tmp_path, VARIANTS)
    core = ov.Core()
    for _ in range(2):
        assert set(ovplace.load(tmp_path, core).get_property("EXECUTION_DEVICES")) == {"CPU_LOW", "CPU_F32"}


@pytest.mark.parametrize("alone", [False, True])
def test_a_second_load_takes_what_the_cache_holds(tmp_path, alone):
    table = write(tmp_path, VARIANTS)
    if alone:
        placed_model.write_placed(tmp_path / "placed.xml", tmp_path, dict.fromkeys(table, "CPU_F32"), VARIANTS, {})
    first, second = (ovplace.load(tmp_path, cache_dir=tmp_path / "cache") for _ in range(2))
    assert [loaded.get_property("LOADED_FROM_CACHE") for loaded in (first, second)] == [False, True]
    x = np.ones(first.input().shape, dtype=np.float32)
    np.testing.assert_array_equal(first(x)[0], second(x)[0])


def test_devices_with_other_properties_share_no_cache(tmp_path):
    for devices in (VARIANTS, tuple(replace(device, properties={}) for device in VARIANTS)):
        write(tmp_path, devices)
        assert not ovplace.load(tmp_path, cache_dir=tmp_path / "cache").get_property("LOADED_FROM_CACHE")


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    write(tmp_path, VARIANTS)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StoreError, match=r"cannot write the cache_dir '.*file': Not a directory; give another folder"):
        ovplace.load(tmp_path, cache_dir=file)


def test_submodels_from_the_cache_share_an_executor(tmp_path, monkeypatch):
    compiled = []
    core = ov.Core()

    def compile_model(model, *settings):
        compiled.append(settings)
        return SimpleNamespace()

    monkeypatch.setattr(core, "compile_model", compile_model)
    write(tmp_path, VARIANTS)
    ovplace.load(tmp_path, core, cache_dir=tmp_path / "cache")
    [(_, settings)] = compiled
    assert set(settings["DEVICE_PROPERTIES"]) == {"CPU_LOW", "CPU_F32"}
    assert all(of["EXCLUSIVE_ASYNC_REQUESTS"] for of in settings["DEVICE_PROPERTIES"].values())


def edit(folder, name, old, new):
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def other_model(folder):
    table = write(folder / "other", VARIANTS, models.int8_weights())
    (folder / "placement.json").write_text(json.dumps(table))


def other_weights(folder):
    raw = bytearray((folder / "placed.bin").read_bytes())
    raw[5] ^= 64
    (folder / "placed.bin").write_bytes(raw)


def torn_weights(folder):
    (folder / "placed.bin").write_bytes((folder / "placed.bin").read_bytes()[:10])


def other_device(folder):
    table = json.loads((folder / "placement.json").read_text())
    (folder / "placement.json").write_text(json.dumps(dict.fromkeys(table, "NPU")))


REFUSALS = {
    "another model": (other_model, PlacementError, "of another model"),
    "another version": (
        lambda f: edit(f, "placed.xml", '<schema value="1"', '<schema value="7"'), PlacementError, "version 7",
    ),
    "no table": (lambda f: (f / "placement.json").unlink(), PlacementError, r"there is no .*placement\.json"),
    "torn table": (lambda f: (f / "placement.json").write_text("{"), PlacementError, "cannot read the placement"),
    "table of something else": (lambda f: (f / "placement.json").write_text("[1]"), PlacementError, "flat JSON object"),
    "edited weights": (other_weights, PlacementError, "was changed"),
    "torn weights": (torn_weights, ModelError, "weights file"),
    "edited attribute": (lambda f: edit(f, "placed.xml", 'pads_begin="1, 1"', 'pads_begin="0, 0"'), OvplaceError, "."),
    "another device": (other_device, PlacementError, "names device 'NPU'"),
    "damaged devices": (
        lambda f: edit(f, "placed.xml", "&quot;base&quot;", "&quot;x&quot;"), PlacementError, "cannot read the devices",
    ),
    "devices are lost": (
        lambda f: edit(f, "placed.xml", "<devices value=", "<others value="), PlacementError, "lacks 'devices'",
    ),
    "hash is lost": (
        lambda f: edit(f, "placed.xml", "<model_hash value=", "<old_hash value="), PlacementError, "lacks 'model_hash'",
    ),
    "an operation twice": (
        lambda f: edit(f, "placement.json", "{", '{"x": "CPU_F32",'), PlacementError, "it names 'x' twice",
    ),
    "no model": (lambda f: (f / "placed.xml").unlink(), ModelError, "does not exist"),
    "not finished": (
        lambda f: prepare(f / "source.xml", f / "placed.xml"), PlacementError, "holds no placement yet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_does_not_fit_is_refused_in_one_line(tmp_path, case):
    spoil, kind, words = REFUSALS[case]
    write(tmp_path, VARIANTS)
    assert ovplace.load(tmp_path)
    spoil(tmp_path)
    with pytest.raises(kind, match=words) as caught:
        ovplace.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_table_may_begin_with_a_byte_order_mark(tmp_path):
    table = write(tmp_path, VARIANTS)
    (tmp_path / "placement.json").write_text(json.dumps(table), encoding="utf-8-sig")
    assert ovplace.load(tmp_path)


def test_a_device_that_is_not_here_is_named(tmp_path):
    write(tmp_path, (Device("NPU", "NPU"), VARIANTS[1]))
    with pytest.raises(DeviceError, match="needs device 'NPU'"):
        ovplace.load(tmp_path)


def test_what_is_no_folder_is_said(tmp_path):
    file = tmp_path / "placed.xml"
    file.write_text("")
    with pytest.raises(PlacementError, match=r"placed.xml' is a file, not a run folder; give the folder it is in"):
        ovplace.load(file)
    with pytest.raises(PlacementError, match=r"there is no run folder '.*nope'.* check the path"):
        ovplace.load(tmp_path / "nope")


@pytest.mark.parametrize(("base", "present"), [("GPU.0", "GPU"), ("GPU", "GPU.1"), ("GPU.1", "GPU.1")])
def test_a_device_is_there_by_either_of_its_names(base, present):
    _check_present(SimpleNamespace(available_devices=["CPU", present]), [Device(base, base)], Path("run"))


def test_another_device_of_the_kind_is_not_enough():
    with pytest.raises(DeviceError, match=r"needs device 'GPU\.1'"):
        _check_present(SimpleNamespace(available_devices=["CPU", "GPU"]), [Device("GPU.1", "GPU.1")], Path("run"))
