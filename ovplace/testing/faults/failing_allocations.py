"""The n-th allocation of memory by Python within a call fails: CPython's own test hooks count them.

They count what all threads allocate. Memory that native libraries take for themselves is not Python's, and does not
fail here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace.testing.faults.fault import Fault

MOST = 10_000_000
"""More allocations than a call makes."""


WHOLE = "ovplace.cli:group.main"
"""All that a command does but for telling how it ended."""

PARTS: Mapping[str, int] = {
    "ovplace.store.run_folder:RunFolder.open_store": 1,
    "ovplace.store.run_folder:RunFolder.write_config": 1,
    "ovplace.store.run_db:RunStore.put_measurement": 2,
    "ovplace.store.run_db:RunStore.save_checkpoint": 2,
    "ovplace.store.run_db:RunStore.add_trial": 2,
    "ovplace.store.run_db:RunStore.trials": 1,
    "ovplace.search.explore:decide": 1,
    "ovplace.ir.placed_model:write_placed": 1,
    "ovplace.store.run_folder:RunFolder.write_result": 1,
    "ovplace.report.write:write_report": 1,
}
"""Parts of a run that read and write its folder, and which of their calls is struck."""


def available() -> bool:
    """Return whether this Python has the hooks; those of some distributions have not."""
    return importlib.util.find_spec("_testcapi") is not None


@dataclass(frozen=True)
class FailingAllocation(Fault):
    """Which allocation of a process fails.

    Attributes:
        function: the module and the function or method, as in `ovplace.store.run_db:RunStore.add_trial`.
        call: which of its calls, from 1.
        number: of the allocation in that call, from 1; 0 for none.
        count: so many in a row fail.
        log: file that gets the number of allocations in that call, where none fails.
    """

    function: str
    call: int = 1
    number: int = 0
    count: int = 1
    log: Path | None = None

    def arm(self) -> None:
        """Put a function that fails in the place of the function."""
        module, path = self.function.split(":")
        *owners, name = path.split(".")
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
        setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        calls, act = itertools.count(1), self._failing if self.number else self._counted

        @functools.wraps(function)
        def watched(*arguments: Any, **options: Any) -> Any:
            now = functools.partial(function, *arguments, **options)
            return act(now) if next(calls) == self.call else now()

        return watched

    def _failing(self, call: Callable[[], Any]) -> Any:
        hooks = _hooks()
        fail, heal = hooks.set_nomemory, hooks.remove_mem_hooks  # looked up while there is memory
        fail(self.number, self.number + self.count)
        try:
            return call()
        finally:
            heal()

    def _counted(self, call: Callable[[], Any]) -> Any:
        hooks = _hooks()
        hooks.set_nomemory(MOST, MOST + 1)
        try:
            value = call()
            left = _allocations_until_one_fails()
        finally:
            hooks.remove_mem_hooks()
        if self.log:
            self.log.write_text(str(MOST - left), encoding="ascii")
        return value


def _hooks() -> Any:
    return importlib.import_module("_testcapi")


def _allocations_until_one_fails() -> int:
    """Return how many allocations succeed, one a number: Python keeps only those up to 256."""
    first = 1000
    numbers = itertools.count(first)
    try:
        while True:
            next(numbers)
    except MemoryError:
        return next(numbers) - first
