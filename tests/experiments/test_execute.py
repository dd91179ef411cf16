"""The processes of cells import what their caller can import, and nothing from the current folder."""

import errno
import subprocess
import sys

import pytest

from ovplace.config.schema import RunConfig
from ovplace.experiments.execute import error_text, execute
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


@pytest.mark.parametrize(
    ("code", "output", "said"),
    [
        (0, "a warning\n", ""),
        (2, "a warning\nno such device\n\n", "no such device"),
        (1, "Traceback (most recent call last):\nKeyError: 'x'\n", "internal error: KeyError: 'x'"),
        (3, "", "the process ended with exit code 3"),
        (-9, "", "the process was killed by SIGKILL; is there enough memory for so many --jobs?"),
        (-6, "terminate called\n", "the process was killed by SIGABRT: terminate called"),
        (-40, "", "the process was killed by signal 40"),
    ],
)
def test_how_a_process_ended_is_said_in_a_line(code, output, said):
    assert error_text(code, output) == said


def test_a_process_that_cannot_be_started_ends_no_other(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", full)
    cells = [Cell("full", "small", "here", seed, tmp_path, RunConfig(), simulated=True) for seed in range(2)]
    told = {}
    execute(cells, Task("nothing:work", lambda _: None), 2, lambda cell, error: told.update({cell.seed: error}))
    assert told.keys() == {0, 1}
    assert all("cannot be run: Resource temporarily unavailable" in error for error in told.values())
