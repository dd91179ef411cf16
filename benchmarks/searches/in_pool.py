"""Do the cells of a suite in processes that stay: a search takes a second, loading a learned placer several.

A single job needs no process of its own.
"""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ovplace.config import toml
from ovplace.core import one_thread
from ovplace.errors import OvplaceError
from ovplace.experiments.grid import Cell
from ovplace.experiments.task import Task


def in_pool(cells: Sequence[Cell], task: Task[Any], jobs: int, done: Callable[[Cell, str], None]) -> None:
    """Do `task` in all cells; an error is reported and ends nothing.

    Args:
        cells: what to run.
        task: the work of each.
        jobs: processes; with 1 this one does all.
        done: called with each cell and its error, "" where there is none, in the calling thread.

    Raises:
        OvplaceError: a process died; what is not done stays so.
    """
    if jobs == 1:
        return _here(cells, task, done)
    with _one_thread(), ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        try:
            pending = {pool.submit(_work, *_order(cell, task)): cell for cell in cells}
            for future in as_completed(pending):
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise OvplaceError(
                        "a process died; is there enough memory for so many --jobs? The same command goes on"
                    )
                done(pending[future], _text(error) if error else future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _here(cells: Sequence[Cell], task: Task[Any], done: Callable[[Cell, str], None]) -> None:
    with _one_thread(), one_thread.one_thread():
        for cell in cells:
            done(cell, _error_here(cell, task))


def _error_here(cell: Cell, task: Task[Any]) -> str:
    try:
        return _work(*_order(cell, task))
    except Exception as error:
        return _text(error)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _order(cell: Cell, task: Task[Any]) -> tuple[str, str, str, dict[str, object]]:
    return task.function, toml.dumps(cell.config), str(cell.folder), dict(task.options)


def _work(function: str, config: str, folder: str, options: dict[str, object]) -> str:
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module), name)(toml.build_config(tomllib.loads(config)), Path(folder), options)
    except OvplaceError as error:
        return " ".join(str(error).split())
    return ""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that start now compute in one thread each: results must not depend on how many there are."""
    before = {name: os.environ.get(name) for name in one_thread.ENVIRONMENT}
    os.environ.update(one_thread.ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
