"""The processes of cells import what their caller can import, and nothing from the current folder."""

import errno
import subprocess
import sys

from ovplace.config.schema import RunConfig
from ovplace.experiments.execute import execute
from ovplace.experiments.grid import Cell
from ovplace.experiments.task import Task


def test_the_function_of_a_task_is_found_and_modules_in_the_current_folder_are_not_executed(tmp_path, monkeypatch):
    current, mine = tmp_path / "current", tmp_path / "mine"
    current.mkdir()
    mine.mkdir()
    (current / "json.py").write_text("open('executed', 'w').close()\nraise ImportError\n")
    (mine / "task_of_mine.py").write_text("def work(config, folder, options): folder.mkdir()\n")
    monkeypatch.chdir(current)
    monkeypatch.setattr(sys, "path", [str(mine), *filter(None, sys.path)])  # as for an installed command
    cells = [
        Cell("full", "small", "here", seed, tmp_path / str(seed), RunConfig(), simulated)
        for seed, simulated in enumerate([True, False])
    ]
    told = []
    execute(cells, Task("task_of_mine:work", lambda _: None), 1, lambda cell, error: told.append((cell.seed, error)))
    assert told == [(0, ""), (1, "")]
    assert all(cell.folder.is_dir() for cell in cells)
    assert list(current.iterdir()) == [current / "json.py"]


def test_a_process_that_cannot_be_started_ends_no_other(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", full)
    cells = [Cell("full", "small", "here", seed, tmp_path, RunConfig(), simulated=True) for seed in range(2)]
    told = {}
    execute(cells, Task("nothing:work", lambda _: None), 2, lambda cell, error: told.update({cell.seed: error}))
    assert told.keys() == {0, 1}
    assert all("cannot be run: Resource temporarily unavailable" in error for error in told.values())
