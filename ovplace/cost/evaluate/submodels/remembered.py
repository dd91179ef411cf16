"""Results that are found once for each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Remembered(Generic[Result]):
    """Results by key, forgotten together once there are too many."""

    def __init__(self, most: int) -> None:
        """Remember nothing yet.

        Args:
            most: number of results above which all are forgotten, at the next call.
        """
        self._most, self._results = most, dict[bytes, Result]()

    def of(self, keys: Sequence[bytes], find: Callable[[list[int]], Iterable[Result]]) -> list[Result]:
        """Return the result for each key.

        Args:
            keys: some keys, which may repeat.
            find: returns the results for the keys at some positions, each key once, none of them remembered.
        """
        if len(self._results) > self._most:
            self._results.clear()
        found = {key: result for key in keys if (result := self._results.get(key)) is not None}  # threads share them
        if new := {key: at for at, key in enumerate(keys) if key not in found}:
            found.update(zip(new, find(list(new.values())), strict=True))
            self._results.update(found)
        return [found[key] for key in keys]
