"""A C++ program that loads the placed model with OpenVINO alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.exporters._registration import Step, steps, target
from ovplace.ir import placed_model
from ovplace.plugins import protocols

SUMMARY = "C++ program that loads the placed model with OpenVINO alone"

_PROGRAM = """\
// Loads a model placed by ovplace: each operation on its device.{emulated}
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include <openvino/openvino.hpp>

// Reads placement.json: one flat object of texts, in which only control characters are written as \\\\u escapes.
std::map<std::string, std::string> read_placement(const std::string& path) {{
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    const std::string json = all.str();
    std::map<std::string, std::string> table;
    std::string key, part;
    bool inside = false, is_key = true;
    for (size_t i = 0; i < json.size(); ++i) {{
        const char c = json[i];
        if (inside && c == '\\\\') {{
            const char escaped = json.at(++i);
            if (escaped == 'u') {{
                part += static_cast<char>(std::stoi(json.substr(i + 1, 4), nullptr, 16));
                i += 4;
            }} else {{
                const std::string from = "nrtbf", to = "\\n\\r\\t\\b\\f";
                const size_t at = from.find(escaped);
                part += at == std::string::npos ? escaped : to[at];
            }}
        }} else if (c == '"') {{
            if (inside && is_key)
                key = part;
            else if (inside)
                table[key] = part;
            is_key = inside ? !is_key : is_key;
            inside = !inside;
            part.clear();
        }} else if (inside) {{
            part += c;
        }}
    }}
    return table;
}}

int main() {{
    const std::string folder = {folder};
    ov::Core core;
{registered}    auto model = core.read_model(folder + "/placed.xml");
    const auto placement = read_placement(folder + "/placement.json");
    for (const auto& op : model->get_ops())
        op->get_rt_info()["affinity"] = placement.at(op->get_friendly_name());
    auto compiled = core.compile_model(model, {target});

    auto request = compiled.create_infer_request();
    for (const auto& port : compiled.inputs())
        std::cout << "input " << port << std::endl;
    for (const auto& port : compiled.outputs())
        std::cout << "output " << port << std::endl;
    return 0;
}}
"""

_EMULATED = """
// This placement was measured with the emulated GPU, which only Python programs have (ovplace.enable_emulated_gpu);
// this program takes the machine's own GPU."""


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Writes a program that sets devices and affinities up, compiles and infers."""

    def text(self, folder: Path) -> str:
        """Return the program for the run in `folder`."""
        found = placed_model.read_placed(ov.Core(), folder)
        lines = [f"    {line}\n" for step in steps(found.devices) for line in _registered(step)]
        return _PROGRAM.format(
            emulated=_EMULATED if any(device.emulated for device in found.devices) else "",
            folder=_quoted(str(folder.resolve())),
            registered="".join(lines),
            target=_quoted(target([device.name for device in found.devices])),
        )


def _registered(step: Step) -> Iterator[str]:
    if step.library:
        yield f"core.register_plugin({_quoted(step.library)}, {_quoted(step.name)});"
    if step.properties:
        pairs = ", ".join(f"{{{_quoted(key)}, {_quoted(value)}}}" for key, value in step.properties.items())
        yield f"core.set_property({_quoted(step.name)}, ov::AnyMap{{{pairs}}});"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
