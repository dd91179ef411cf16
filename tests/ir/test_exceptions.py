"""What OpenVINO's exceptions say."""

from __future__ import annotations

from ovplace.ir.exceptions import last_line, without_positions

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


def test_no_text_gives_the_type() -> None:
    assert without_positions(RuntimeError()) == last_line(RuntimeError()) == "RuntimeError"
