"""`ovplace minimize` on the command line: its inputs may have moved, and its folder is tried first."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ovplace.api.searching import optimize
from ovplace.commands.minimizing import minimize as module
from ovplace.testing import fake_backend, models
from tests.whole_runs import PAIR, QUICK

SETTINGS = (*QUICK, "search.stages=false", "backend.fault=fail", "backend.on=split")


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Return a run with a failed trial, its inputs gone, and where these are now."""
    folder = tmp_path_factory.mktemp("failing")
    inputs, moved = folder / "inputs.npz", folder / "moved.npz"
    np.savez(inputs, x=np.full((1, 3, 8, 8), 7, np.float32))
    given = {"device": PAIR, "placer": "random", "budget": 2, "backend": fake_backend.NAME, "input": str(inputs)}
    run = optimize(models.residual(), folder / "run", settings=SETTINGS, progress=False, **given)
    inputs.rename(moved)
    return run.folder, moved


@pytest.mark.slow
def test_inputs_that_have_moved_are_named(ovplace, failing, tmp_path):
    run, moved = failing
    done = ovplace("minimize", run, "1", "-o", tmp_path / "left")
    assert (done.code, done.out) == (2, "")
    assert "inputs.npz' do not exist; check the path, or name another file with -i" in done.err
    done = ovplace("minimize", run, "1", "-o", tmp_path / "left", "-i", moved, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["kind"] == "compile"
    assert ovplace("minimize", run, "1", "-o", tmp_path / "left", "-i", moved).code == 0  # replaces its own files


@pytest.mark.parametrize("name", ["model.xml", "model.bin", "inputs.npz", "report.md"])
def test_files_that_are_no_reproduction_are_kept(ovplace, failing, tmp_path, monkeypatch, name):
    monkeypatch.setattr(module, "open_session", lambda *_: pytest.fail("it is being minimized"))
    (tmp_path / name).write_text("mine")
    done = ovplace("minimize", failing[0], "1", "-i", failing[1], "-o", tmp_path)
    assert (done.code, done.out, (tmp_path / name).read_text()) == (2, "", "mine")
    assert f"{name}' is there and would be lost; choose another place with -o, or move it" in done.err


def test_a_folder_that_takes_no_files_is_told_first(ovplace, failing, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "open_session", lambda *_: pytest.fail("it is being minimized"))
    (tmp_path / "taken").touch()
    done = ovplace("minimize", failing[0], "1", "-i", failing[1], "-o", tmp_path / "taken")
    assert done.code == 1
    assert "taken': File exists; choose another place with -o" in done.err
