"""The processes that measure import what their caller can import, and nothing from the current folder."""

import importlib
import os
import subprocess
import sys
from contextlib import closing

import pytest

from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.isolated_call import isolated_call
from ovplace.measuring.process_pool import ProcessPool
from ovplace.testing import fake_backend
from ovplace.testing.sessions import job, pool


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Make a folder the current one whose modules have names that ovplace imports, and write a file when they run."""
    for name in ("queue", "pickle", "openvino", "ovplace"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\nraise ImportError\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])  # as for an installed command
    return tmp_path


def test_modules_in_the_current_folder_are_not_executed(hostile):
    assert isolated_call("looking", os.getpid) != os.getpid()
    with closing(pool()) as measuring:
        assert measuring.facts()
    assert not (hostile / "executed").exists()


def test_a_backend_is_found_wherever_the_path_of_the_caller_leads(tmp_path, monkeypatch):
    folder = tmp_path / "a:b c"  # which no PYTHONPATH can hold
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "fake.py").write_text(f"from {fake_backend.NAME} import SUMMARY, Backend, Config\n")
    monkeypatch.syspath_prepend(folder)
    with closing(ProcessPool(WorkerSpec("mine.fake", job()))) as measuring:
        assert measuring.facts()


def test_the_path_and_the_arguments_are_those_of_a_program(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path, tmp_path])  # imports ignore the last one
    (tmp_path / "looked_at.py").write_text("import sys\ndef seen(): return [sys.path, sys.argv[1:]]\n")
    seen = importlib.import_module("looked_at").seen
    assert isolated_call("looking", seen) == [sys.path[:-1], []]


def reporting() -> bool:
    """Return whether a process that imports openvino would report it."""
    importlib.import_module("openvino")
    return sys.modules.get("openvino_telemetry") is not None


def test_processes_that_measure_report_no_import_of_openvino():
    assert not isolated_call("looking", reporting)


COMMAND = """
import sys
from ovplace.cli import main
try:
    main(["inspect", "demo", "-q"])
finally:
    assert "openvino" in sys.modules
    assert sys.modules["openvino_telemetry"] is None
    assert not [name for name in sys.modules if name.startswith("openvino_telemetry.")]
"""


def test_commands_report_no_import_of_openvino():
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
