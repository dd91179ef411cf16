"""An OpenVINO that is too old is told, and how to get rid of it."""

import os
import tomllib
from pathlib import Path

import openvino as ov
import pytest

from ovplace.devices.openvino_version import LEAST, old_version, remedy, version_notes

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("version", "number"),
    [
        ("2025.4.1-20426-82bbf0292c5-releases/2025/4", "2025.4.1"),
        ("2026.3.1-22476-759c5a6ab8c-releases/2026/3", "2026.3.1"),
        ("2026.4.0-1-abc", ""),
        ("2026.10.0", ""),
        ("2027.0.0", ""),
        ("fake 1", ""),
        ("", ""),
    ],
)
def test_versions_are_compared_by_number(version, number):
    assert old_version(version) == number


def test_the_installed_one_is_new_enough():
    assert old_version(ov.get_version()) == ""
    assert version_notes({"openvino": ov.get_version()}) == version_notes({}) == ()


def test_pip_installs_none_that_is_too_old():
    needed = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    assert f"openvino>={'.'.join(map(str, LEAST))}" in needed


def test_results_say_so():
    (note,) = version_notes({"openvino": "2025.4.1-1-abc"})
    assert note.startswith("OpenVINO 2025.4.1 is older than 2026.4, which ovplace is made for")
    assert note.endswith("'ovplace doctor' says how to use a newer one")


def test_a_path_that_comes_before_pips_is_to_be_removed(tmp_path):
    python = tmp_path / "python"
    path = os.pathsep.join(["", str(tmp_path), str(python)])
    assert remedy(python / "openvino", {"PYTHONPATH": path}).startswith("unset PYTHONPATH ")
    assert remedy(tmp_path / "other" / "openvino", {"PYTHONPATH": path}).startswith("pip install --upgrade ")
    assert remedy(python / "openvino", {}).startswith("pip install --upgrade ")
