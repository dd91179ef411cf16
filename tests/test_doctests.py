"""The examples in the docstrings, executed in an empty folder that has the models."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ovplace
from ovplace.devices import emulated_gpu

ROOT = Path(ovplace.__file__).parent
ALONE = "ovplace.devices.emulated_gpu"
"""Its example must run before openvino is imported."""

NAMES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
PROGRAM = f"""
import doctest, sys
import {ALONE} as module
found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
sys.exit(found.failed or not found.attempted)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder that the examples share: a run that one of them has made is continued by the others."""
    path = tmp_path_factory.mktemp("examples")
    (path / "models").symlink_to(ROOT.parent / "models")
    return path


@pytest.mark.parametrize("name", [name for name in NAMES if name != ALONE])
def test_examples(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted
    assert not found.failed


@pytest.mark.skipif(bool(emulated_gpu.why_unavailable()), reason="the emulated GPU is not installed")
def test_the_example_of_the_emulated_gpu():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_function_and_class_of_the_interface_has_one():
    for name in ovplace.__all__:
        assert ">>> " in getattr(ovplace, name).__doc__, name
