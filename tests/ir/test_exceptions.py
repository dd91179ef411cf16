"""What OpenVINO's exceptions say."""

from __future__ import annotations

from pathlib import Path

import openvino as ov
import pytest

from ovplace.errors import ModelError, PlacementError, StoreError
from ovplace.ir.exceptions import last_line, without_positions
from ovplace.ir.placed_model import save_placed
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.saving import save_in_memory_model
from ovplace.testing import models

SAID = """Exception from src/inference/src/cpp/core.cpp:117:
Exception from src/inference/src/dev/plugin.cpp:54:
Check 'false' failed at src/plugins/intel_gpu/src/plugin/program_builder.cpp:168:
[GPU] ProgramBuilder build failed!
An OpenCL error occurred: -42
"""


def test_positions_in_the_source_are_left_out() -> None:
    assert without_positions(RuntimeError(SAID)) == "[GPU] ProgramBuilder build failed! An OpenCL error occurred: -42"
    assert last_line(RuntimeError(SAID)) == "An OpenCL error occurred: -42"


def test_what_is_nothing_but_positions_stays() -> None:
    said = "Exception from src/inference/src/cpp/core.cpp:117:"
    assert without_positions(RuntimeError(said)) == said
    assert last_line(RuntimeError(said)) == said


def test_exhausted_memory_is_said_in_words() -> None:
    said = "Exception from src/core/src/runtime/allocator.cpp:79:\nstd::bad_alloc\n"
    assert last_line(said) == "there is not enough memory (std::bad_alloc)"


def test_missing_weights_of_an_onnx_file_are_named() -> None:
    said = "Invalid usage of method for externally stored data in file (ext.data, offset: 0, data_length: 512)"
    assert last_line(said) == "its external data file 'ext.data' is missing, or shorter than the model says"


def test_no_text_gives_the_type() -> None:
    assert without_positions(RuntimeError()) == last_line(RuntimeError()) == "RuntimeError"


def test_a_full_disk_is_told_with_what_is_free(monkeypatch, tmp_path) -> None:
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("basic_ios::clear: iostream error")

    ov.save_model(models.residual(), tmp_path / "model.xml")
    monkeypatch.setattr(ov, "save_model", full)
    free = (
        r"the disk is full, or fails \(\d+\.\d MiB are free there\); make room there, or choose another folder with -o"
        ", or by TMPDIR if this one is temporary"
    )
    with pytest.raises(ModelError, match=f"cannot write the prepared model .*{free}"):
        prepare(tmp_path / "model.xml", tmp_path / "prepared.xml")
    with pytest.raises(StoreError, match=r"cannot save the model .* MiB are free there\)"):
        save_in_memory_model(models.residual(), tmp_path, begun=False)


def partly(model: object, path: Path, **_: object) -> None:
    path.with_suffix(".bin").write_bytes(bytes(10))
    raise RuntimeError("basic_ios::clear: iostream error")


def test_a_prepared_model_that_cannot_be_written_leaves_the_earlier_one(monkeypatch, tmp_path) -> None:
    target = tmp_path / "run" / "prepared.xml"
    ov.save_model(models.residual(), tmp_path / "model.xml")
    prepare(tmp_path / "model.xml", target)
    before = {path: path.read_bytes() for path in target.parent.iterdir()}
    monkeypatch.setattr(ov, "save_model", partly)
    with pytest.raises(ModelError, match="cannot write the prepared model"):
        prepare(tmp_path / "model.xml", target)
    assert {path: path.read_bytes() for path in target.parent.iterdir()} == before


def test_a_placed_model_that_cannot_be_written_leaves_no_part_of_it(monkeypatch, tmp_path) -> None:
    model = models.residual()
    monkeypatch.setattr(ov, "save_model", partly)
    with pytest.raises(PlacementError, match=r"there\); make room there, or .* and repeat the same command$"):
        save_placed(model, tmp_path, {op.get_friendly_name(): "CPU" for op in model.get_ops()})
    assert not list(tmp_path.iterdir())
