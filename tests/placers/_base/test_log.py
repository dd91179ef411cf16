"""Rows that are only ever added come back, and what is stored anew with each stays small."""

from __future__ import annotations

import json

import pytest

from ovplace.placers._base.log import CHUNK, Log, Seen

LONG = 10_000
"""The store keeps texts of a state from this length on apart, and each once."""


def rows(count):
    return [[[i % 2] * 70, None if i % 9 == 0 else 1 / (i + 1), [i / 7] * (i % 4)] for i in range(count)]


@pytest.mark.parametrize("count", [0, 1, 40, 500])
def test_rows_come_back_in_order(count):
    log, again = Log("told"), Log("told")
    log.extend(rows(count))
    state = json.loads(json.dumps(log.state()))
    assert Log.rows("told", {"other": 1, **state}) == rows(count)
    again.extend(Log.rows("told", state))
    assert again.state() == log.state(), "a continued run stores the same"


def test_what_is_stored_anew_does_not_grow():
    log, had, short, new = Log("told"), {}, [], []
    for row in rows(1500):
        log.add(row)
        state = log.state()
        long = {name: text for name, text in state.items() if isinstance(text, str)}
        short.append(len(json.dumps({name: value for name, value in state.items() if name not in long})))
        new.append([text for text in long.values() if text not in had])
        had |= dict.fromkeys(new[-1])
    assert max(short) < CHUNK + 1000
    assert min(map(len, had)) >= LONG
    assert max(map(len, new)) == 1
    assert len(long) <= 6, "of 400,000 characters"
    assert sum(map(len, had)) < 6 * sum(map(len, long.values())), "a row is written again only when texts double"


def test_a_state_is_a_snapshot():
    log = Log("told")
    log.extend(rows(3))
    state = log.state()
    log.add(1)
    assert state == {"told": rows(3)}


def test_hashes_are_looked_up():
    seen = Seen(["a", "b"])
    seen.add("a")
    assert ("a" in seen, "c" in seen, len(seen)) == (True, False, 2)
    assert seen.state() == Seen.of(seen.state()).state() == {"seen": ["a", "b"]}
