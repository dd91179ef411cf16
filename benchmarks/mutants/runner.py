"""Tests in a fork of this process, where one module may have a fault; libraries that all need are loaded before."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutants.confined import confine

PYTEST = ("-x", "-q", "-n0", "-p", "no:randomly", "-p", "no:cacheprovider", "--import-mode=importlib", "-m", "not slow")


@dataclass(frozen=True)
class Fault:
    """A module that is loaded from a changed tree.

    Attributes:
        module: its dotted name.
        path: its file.
        tree: what is loaded instead.
    """

    module: str
    path: Path
    tree: ast.Module


def preload() -> None:
    """Load the libraries that most tests need, once for all forks."""
    for name in ("numpy", "scipy.optimize", "networkx", "openvino", "pytest"):
        importlib.import_module(name)


def passes(tests: Sequence[str], limit_s: float, fault: Fault | None = None) -> bool | None:
    """Return whether tests pass; None where they did not end in time.

    Args:
        tests: their node ids.
        limit_s: time limit of all together.
        fault: the module that is changed; None for the sources as they are.
    """

    def act() -> int:
        if fault:
            sys.meta_path.insert(0, _Finder(fault))
        return pytest_main(tests)

    code = forked(act, limit_s)
    return None if code is None else code == 0


def pytest_main(arguments: Sequence[str], plugins: Sequence[object] = ()) -> int:
    """Run pytest, and return its exit code."""
    import pytest

    return int(pytest.main([*PYTEST, *arguments], plugins=list(plugins)))


def forked(act: Callable[[], int], limit_s: float) -> int | None:
    """Return the exit code of a fork that runs `act`, confined to a temporary folder; None where time was up.

    Args:
        act: returns the exit code.
        limit_s: the fork and what it started are killed after so many seconds.
    """
    folder = Path(tempfile.mkdtemp(prefix="mutant-")).resolve()
    pid = os.fork()
    if not pid:
        _in_fork(act, folder)
    try:
        return _waited(pid, limit_s)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _in_fork(act: Callable[[], int], folder: Path) -> None:
    code = 70
    try:
        os.setsid()
        nowhere = os.open(folder / "output", os.O_RDWR | os.O_CREAT)
        for stream in range(3):
            os.dup2(nowhere, stream)
        confine(folder)
        code = act()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _waited(pid: int, limit_s: float) -> int | None:
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


class _Finder:
    """Finds the module with a fault before the import system finds the one without."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._fault.module:
            return None
        return importlib.util.spec_from_file_location(
            name, self._fault.path, loader=_Loader(name, str(self._fault.path), self._fault.tree)
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self._tree = tree

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self._tree, self.path, "exec")
