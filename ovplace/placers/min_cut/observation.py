"""Measured placements as a search keeps them, and as its state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, takewhile
from typing import Any, NamedTuple

import numpy as np

from ovplace.core.json_text import parse_json
from ovplace.core.measurement import Trial

_CHUNK = 20_000
"""Characters from which a part of the history becomes a text of its own: the store keeps each long text once."""


class Observation(NamedTuple):
    """A measured placement.

    Attributes:
        choice: device of each group, `[G]`.
        ratio: latency over that of the reference measured at the same time; None for a failure.
        latency_ms: median latency in ms; None for a failure.
        stages_ms: median latency of each submodel in running order, where they were run one by one; else empty.
    """

    choice: list[int]
    ratio: float | None
    latency_ms: float | None
    stages_ms: Sequence[float] = ()

    @classmethod
    def of(cls, choice: list[int], trial: Trial) -> Observation:
        """Return the observation of a measured placement.

        Args:
            choice: device of each group, `[G]`.
            trial: its measurement.
        """
        if not np.isfinite(trial.ratio):
            return cls(choice, None, None, [])
        return cls(choice, trial.ratio, trial.measurement.median_ms, list(trial.measurement.stages_ms))


class History:
    """The observations of a search in order, whose state takes no longer to form the more there are.

    The state is stored after each placement asked for. Older observations are in texts that never change, which the
    store has already.
    """

    def __init__(self) -> None:
        """Start without observations."""
        self._all: list[Observation] = []
        self._texts: list[str] = []
        self._closed = 0  # observations that are in the texts

    def __getitem__(self, index: int) -> Observation:
        """Return an observation."""
        return self._all[index]

    def __iter__(self) -> Iterator[Observation]:
        """Return the observations in order."""
        return iter(self._all)

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self._all)

    def add(self, observation: Observation) -> None:
        """Add an observation."""
        self._all.append(observation)

    def state(self) -> dict[str, object]:
        """Return plain data, the inverse of `read`."""
        open_ = self._all[self._closed :]
        if len(text := json.dumps(open_)) >= _CHUNK:
            self._texts.append(text)
            self._closed, open_ = len(self._all), []
        return {**{_key(i): text for i, text in enumerate(self._texts)}, "told": open_}

    @staticmethod
    def read(state: Mapping[str, Any]) -> list[Observation]:
        """Return the observations of a state."""
        numbers = takewhile(lambda number: _key(number) in state, count())
        closed = chain.from_iterable(parse_json(state[_key(number)]) for number in numbers)
        return [Observation(*row) for row in (*closed, *state["told"])]


def _key(number: int) -> str:
    return f"told {number}"
