"""Where a form goes by default, and what is said after it: commands can be typed as they stand."""

import re
import shlex
from pathlib import Path

import pytest

from ovplace.plugins import registry


def exporter(name):
    plugin = registry.load("exporters", name)
    return plugin.factory(plugin.Config())


@pytest.mark.parametrize(
    ("name", "target", "written", "purpose", "command"),
    [
        ("python", "python", "an export/infer.py", "run it with", "python 'an export/infer.py'"),
        (
            "cpp",
            "cpp",
            "an export/main.cpp",
            "build and run it with",
            "cmake -S 'an export' -B 'an export/build' && cmake --build 'an export/build' "
            "&& 'an export/build/infer' 'an export'",
        ),
        (
            "json",
            "affinity.json",
            "an export.json",
            "load it with",
            "hello_affinity -m 'a run/placed.xml' --affinity 'an export.json' -d HETERO:..., naming all of its devices",
        ),
        ("optuna", "study.db", "an export.db", "open it with", "optuna-dashboard 'sqlite:///an export.db'"),
    ],
)
def test_the_command_takes_any_path(name, target, written, purpose, command):
    assert exporter(name).target == target
    said, _, typed = exporter(name).next_step("a run", [Path(written)]).partition(": ")
    assert said == purpose
    assert shlex.split(typed) == shlex.split(command)


@pytest.mark.parametrize(
    ("name", "target", "beginning"),
    [
        (
            "blob",
            "placed.blob",
            "load it with core.import_model(blob, 'HETERO'), or the one device's name; a blob carries no device ",
        ),
        ("ir", "ir", "load it with ovplace.load('out'), or without ovplace as in the program that "),
    ],
)
def test_where_devices_must_be_set_first_the_program_that_does_is_named(name, target, beginning):
    assert exporter(name).target == target
    advice = exporter(name).next_step("runs/demo", [Path("out/placed.xml")])
    assert advice.startswith(beginning)
    (command,) = re.findall("as in the program that '(ovplace .*)' writes$", advice)
    assert shlex.split(command) == ["ovplace", "export", "runs/demo", "--to", "python"]


@pytest.mark.parametrize("name", ["blob", "ir"])
def test_the_command_of_that_program_takes_any_folder(name):
    advice = exporter(name).next_step("a run's", [Path("out/placed.xml")])
    (command,) = re.findall("as in the program that '(ovplace .*)' writes$", advice)
    assert shlex.split(command) == ["ovplace", "export", "a run's", "--to", "python"]


def test_viewers_and_onnx_runtime_are_told_where_the_answer_shows(tmp_path):
    assert [exporter(name).target for name in ("netron", "onnxruntime")] == ["netron.xml", "onnxruntime.json"]
    netron = exporter("netron").next_step("runs/demo", [tmp_path / "view.xml"])
    assert netron == f"open {tmp_path / 'view.xml'} in Netron; Ctrl+D shows the device of every layer"
    rules = exporter("onnxruntime").next_step("runs/demo", [tmp_path / "rules.json"])
    assert rules == (
        "add each pair with SessionOptions.add_session_config_entry; the rules are for the nodes of the ONNX file "
        "that the run was given"
    )
