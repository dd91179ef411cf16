"""A log that a search only adds to, and whose state takes no longer to form and to store the more rows there are.

The state is stored after each placement asked for. Older rows are in long texts, which the store has already. A new
text takes in those before it that are not longer: their number grows with the logarithm of that of the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain, count, takewhile
from typing import Any

from ovplace.core.text.json_text import parse_json

CHUNK = 12_000
"""Characters from which rows become a text of its own: the store keeps each text of 10,000 and more apart, and once."""


class Log:
    """Rows in order, each of which JSON can hold."""

    def __init__(self, name: str) -> None:
        """Start without rows.

        Args:
            name: key of the last rows in a state; those of the texts begin with it.
        """
        self._name, self._length = name, 0
        self._texts: list[str] = []
        self._rows: list[object] = []  # those that are in no text, of so many characters

    def add(self, row: object) -> None:
        """Add a row, which must not change from then on."""
        self._rows.append(row)
        self._length += len(json.dumps(row))
        if self._length >= CHUNK:
            self._close()

    def extend(self, rows: Iterable[object]) -> None:
        """Add rows."""
        for row in rows:
            self.add(row)

    def state(self) -> dict[str, object]:
        """Return plain data, from which `rows` reads all rows."""
        texts = {f"{self._name} {number}": text for number, text in enumerate(self._texts)}
        return {**texts, self._name: list(self._rows)}

    @staticmethod
    def rows(name: str, state: Mapping[str, Any]) -> list[Any]:
        """Return the rows in a state.

        Args:
            name: name of the log.
            state: what `state` returned, and maybe more.
        """
        names = takewhile(state.__contains__, (f"{name} {number}" for number in count()))
        return [*chain.from_iterable(parse_json(state[text]) for text in names), *state[name]]

    def _close(self) -> None:
        text = json.dumps(self._rows)
        while self._texts and len(self._texts[-1]) <= len(text):
            text = f"{self._texts.pop()[:-1]}, {text[1:]}"
        self._texts.append(text)
        self._rows, self._length = [], 0


class Seen:
    """Hashes of placements, which are looked up and only ever added."""

    NAME = "seen"

    def __init__(self, hashes: Iterable[str] = ()) -> None:
        """Start with some."""
        self._log, self._known = Log(self.NAME), set[str]()
        for digest in hashes:
            self.add(digest)

    def __contains__(self, digest: str) -> bool:
        """Return whether a hash was added."""
        return digest in self._known

    def __len__(self) -> int:
        """Return the number of hashes."""
        return len(self._known)

    def add(self, digest: str) -> None:
        """Add a hash; one that is known changes nothing."""
        if digest not in self._known:
            self._known.add(digest)
            self._log.add(digest)

    def state(self) -> dict[str, object]:
        """Return plain data, the inverse of `of`."""
        return self._log.state()

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Seen:
        """Return those of a state, which may hold more."""
        return cls(Log.rows(cls.NAME, state))
