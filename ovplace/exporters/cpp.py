"""A C++ program with the placed model; it needs OpenVINO alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import openvino as ov

from ovplace.exporters._limits import emulated_only_in_python
from ovplace.exporters._model_folder import ModelFolderExporter
from ovplace.exporters._registration import Step, steps, target_text
from ovplace.ir.placed_model import STORED_AFFINITY, PlacedModel, read_placed

SUMMARY = "folder with the placed model, a C++ program that runs it, and its CMakeLists.txt"

_PROGRAM = """\
// Runs a model placed by ovplace, each operation on its device.
//
// Usage: infer [FOLDER]
//
// FOLDER holds placed.xml and placed.bin; by default it is the current one.{emulated}
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include <openvino/op/constant.hpp>
#include <openvino/openvino.hpp>

int run(const std::string& folder) {{
    ov::Core core;
{registered}    auto model = core.read_model(folder + "/placed.xml");
    for (const auto& op : model->get_ops()) {{
        auto& info = op->get_rt_info();
        // An IR keeps the device under one key, HETERO reads the other.
        info["affinity"] = info.at("{stored}").as<std::string>();
    }}
    auto compiled = core.compile_model(model, {target});

    auto request = compiled.create_infer_request();
    for (size_t i = 0; i < compiled.inputs().size(); ++i) {{
        auto tensor = request.get_input_tensor(i);
        if (tensor.get_element_type() == ov::element::string) continue;
        const ov::op::v0::Constant ones(tensor.get_element_type(), tensor.get_shape(), 1);
        // 1 is a valid index, mask and count; your own values go here.
        std::memcpy(tensor.data(), ones.get_data_ptr(), tensor.get_byte_size());
    }}
    request.infer();
    for (size_t i = 0; i < compiled.outputs().size(); ++i) {{
        const auto tensor = request.get_output_tensor(i);
        std::cout << "output " << i << ": " << tensor.get_element_type() << " " << tensor.get_shape() << std::endl;
    }}
    return 0;
}}

int main(int argc, char* argv[]) {{
    try {{
        return run(argc > 1 ? argv[1] : ".");
    }} catch (const std::exception& error) {{
        std::cerr << "error: " << error.what() << std::endl;
        return 1;
    }}
}}
"""

_EMULATED = """
//
// This placement was measured with the emulated GPU, which only Python programs have (ovplace.enable_emulated_gpu);
// this program takes the machine's own GPU."""

_CMAKE = """\
# cmake -S . -B build && cmake --build build && build/infer
# With the OpenVINO that pip installed, add: -DOpenVINO_DIR="$(python -c 'from openvino.utils import get_cmake_path; \
print(get_cmake_path())')"
cmake_minimum_required(VERSION 3.13)
project(infer CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
find_package(OpenVINO REQUIRED COMPONENTS Runtime)
add_executable(infer main.cpp)
target_link_libraries(infer PRIVATE openvino::runtime)
"""


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(ModelFolderExporter):
    """Writes `main.cpp`, `CMakeLists.txt` and the placed model into a folder, which may be moved."""

    target: ClassVar[str] = "cpp"

    def programs(self, found: PlacedModel) -> Mapping[str, str]:
        """Return the program and what builds it."""
        return {"main.cpp": _text(found), "CMakeLists.txt": _CMAKE}

    def limits(self, folder: Path) -> tuple[str, ...]:
        """Return that a C++ program has no emulated GPU, where the placement uses it.

        Raises:
            ModelError: the placed model cannot be read.
            PlacementError: the files do not belong together.
        """
        return emulated_only_in_python(read_placed(ov.Core(), folder).devices)

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to build and run the program."""
        folder = shlex.quote(str(written[0].parent))
        build = shlex.quote(str(written[0].parent / "build"))
        return f"build and run it with: cmake -S {folder} -B {build} && cmake --build {build} && {build}/infer {folder}"


def _text(found: PlacedModel) -> str:
    lines = [f"    {line}\n" for step in steps(found.devices) for line in _registered(step)]
    return _PROGRAM.format(
        emulated=_EMULATED if any(device.emulated for device in found.devices) else "",
        registered="".join(lines),
        stored=STORED_AFFINITY,
        target=_quoted(target_text([device.name for device in found.devices])),
    )


def _registered(step: Step) -> Iterator[str]:
    if step.library:
        yield f"core.register_plugin({_quoted(step.library)}, {_quoted(step.name)});"
    if step.properties:
        pairs = ", ".join(f"{{{_quoted(key)}, {_quoted(value)}}}" for key, value in step.properties.items())
        yield f"core.set_property({_quoted(step.name)}, ov::AnyMap{{{pairs}}});"


def _quoted(text: str) -> str:
    """Return a C++ string literal; all but plain characters become octal escapes of their UTF-8 bytes."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{"".join(plain)}"'
