"""What goes in comes out; whatever is wrong with the file is one clear error, and nothing that was stored is lost."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.core.measurement import ErrorKind, Measurement, OutputError, Trial
from ovplace.core.placement import Placement
from ovplace.errors import StoreError
from ovplace.store.run_db import SCHEMA, RunStore, StoredMeasurement, cache_key

NAMES = ("CPU_0", "CPU_1", "CPU_2")
GOOD = Measurement(
    (1.0, 2.5), (1, 1), submodels=("CPU_0",), outputs=(OutputError("y", 0.1, 0.2, 0.9),), facts={"a": "b"}
)
BAD = Measurement.failed(ErrorKind.CRASH, "gone")


def trial(number, measurement=GOOD, *, cached=False):
    placement = Placement(np.random.default_rng(number).integers(3, size=9), NAMES)
    return Trial(number, placement, measurement, 0.5 + number if measurement.ok else float("inf"), "test", cached)


def same(a, b):
    rows = [
        [(t.number, t.placement.hash, t.placement.devices, t.measurement, t.ratio, t.cached) for t in x] for x in (a, b)
    ]
    return rows[0] == rows[1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture
def opened(path):
    store = RunStore(path)
    yield store
    store.close()


def fill(store, count=5):
    trials = [trial(i, BAD if i % 2 else GOOD) for i in range(count)]
    for each in trials:
        store.add_trial(f"key {each.number}", each)
    return trials


def test_everything_comes_back_in_another_session(path):
    store = RunStore(path)
    trials = fill(store)
    store.put_measurement("baseline", "CPU", StoredMeasurement(GOOD, 1.25))
    store.put("stage", {"done": [1, 2]})
    pending = {3: trial(7).placement, 5: trial(2).placement}
    store.save_checkpoint({"rng": {"state": 2**100}, "text": "ä\n"}, pending)
    store.close()

    again = RunStore(path)
    assert same(again.trials(), trials)
    assert again.find("baseline") == StoredMeasurement(GOOD, 1.25)
    assert again.find("key 1") == StoredMeasurement(BAD, float("inf"))
    assert again.find("absent") is None
    assert [(found.key, found.name) for found in again.measurements()] == [
        *((f"key {each.number}", f"trial {each.number}") for each in trials),
        ("baseline", "CPU"),
    ]
    assert again.get("stage") == {"done": [1, 2]}
    found = again.checkpoint()
    assert found.state == {"rng": {"state": 2**100}, "text": "ä\n"}
    assert {n: p.hash for n, p in found.pending.items()} == {n: p.hash for n, p in pending.items()}
    again.close()


def test_a_cached_trial_refers_to_the_first_measurement(opened):
    opened.add_trial("key", trial(0))
    opened.add_trial("key", Trial(1, trial(0).placement, GOOD, 0.5, "test", cached=True))
    assert [t.cached for t in opened.trials()] == [False, True]


def test_the_last_checkpoint_counts(opened):
    assert opened.checkpoint() is None
    for number in range(3):
        opened.save_checkpoint({"n": number}, {})
    assert opened.checkpoint().state == {"n": 2}


def test_long_parts_of_a_state_are_written_when_they_change(opened, path):
    weights = ["ä" * 50_000, "b" * 50_000]
    written = []
    for number, text in enumerate([weights[0], weights[0], weights[1], "short"]):
        opened.save_checkpoint({"n": number, "weights": text, "same": weights[1]}, {})
        assert opened.checkpoint().state == {"n": number, "weights": text, "same": weights[1]}
        with sqlite3.connect(path) as db:
            written.append([row[0] for row in db.execute("SELECT text FROM texts ORDER BY rowid")])
        db.close()
    assert written == [weights, weights, weights[1:], weights[1:]]


@given(
    st.lists(st.floats(min_value=1e-9, max_value=1e9), min_size=1, max_size=9),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8")),
)
def test_measurements_survive_json(samples, error, text):
    m = Measurement(
        tuple(samples), (len(samples),), outputs=(OutputError(text, error, error, 1.0),), facts={text: text}
    )
    assert Measurement.from_dict(json.loads(json.dumps(m.to_dict()))) == m
    failed = Measurement.failed(ErrorKind.INFER, text)
    assert Measurement.from_dict(json.loads(json.dumps(failed.to_dict()))) == failed
    assert len(failed.error_text.splitlines()) <= 1


def test_every_part_of_the_key_counts():
    parts = ["model", [{"name": "CPU"}], {"driver": "1"}, 1.0, "hash"]
    keys = {cache_key(*parts)}
    for i in range(len(parts)):
        keys.add(cache_key(*parts[:i], "other", *parts[i + 1 :]))
    assert len(keys) == len(parts) + 1
    assert cache_key({"a": 1, "b": 2}) == cache_key({"b": 2, "a": 1})
    assert cache_key("model", 1) == "3705751ba477daecb2e65273cabde5c7", "stores of earlier runs have such keys"


def test_a_full_disk_is_one_clear_error_and_loses_nothing(path):
    store = RunStore(path)
    trials = fill(store)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="full") as caught:
        for number in range(len(trials), 500):
            store.add_trial(f"key {number}", trial(number))
    assert "\n" not in str(caught.value)
    kept = store.trials()
    assert same(kept[: len(trials)], trials)
    assert store.find("key 0")
    store._db.execute(f"PRAGMA max_page_count = {10 * pages}")  # there is room again
    store.add_trial("next", trial(len(kept)))
    store.close()
    again = RunStore(path)
    assert same(again.trials()[: len(kept)], kept)
    assert len(again.trials()) == len(kept) + 1
    again.close()


def test_a_step_that_fails_halfway_leaves_nothing_behind(opened):
    fill(opened, 2)
    with pytest.raises(StoreError, match="UNIQUE"):
        opened.add_trial("new key", trial(1))
    assert opened.find("new key") is None
    opened.add_trial("new key", trial(2))


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="unable to open"):
        RunStore(tmp_path / "file" / "run.db")


@pytest.fixture
def read_only(monkeypatch):
    """Let no folder be written, as far as a process can ask; SQLite itself, and the administrator, still could."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and Path(path).exists())


def test_a_complete_store_is_read_where_nothing_can_be_written(path, read_only):
    path = path.with_name("run #1.db")
    with closing(RunStore(path)) as store:
        trials = fill(store)
    path.with_name(f"{path.name}-wal").touch()
    before = set(path.parent.iterdir())
    with closing(RunStore(path)) as store:
        assert same(store.trials(), trials)
        assert set(path.parent.iterdir()) == before
        with pytest.raises(StoreError, match="readonly"):
            store.put("key", 1)


def test_the_last_steps_of_a_killed_search_are_read_where_nothing_can_be_written(path, opened, read_only):
    trials = fill(opened)
    with closing(RunStore(path)) as store:
        assert same(store.trials(), trials)


def test_a_store_in_memory_needs_no_folder_that_can_be_written(read_only):
    with closing(RunStore(Path(":memory:"))) as store:
        fill(store)


def test_a_store_that_cannot_be_written(path):
    store = RunStore(path)
    trials = fill(store)
    store._db.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="readonly"):
        store.add_trial("next", trial(9))
    assert same(store.trials(), trials)
    store.close()


@pytest.mark.parametrize("content", [b"this is not a database, not at all" * 40, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_store_is_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match="cannot use the run store") as caught:
        RunStore(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_damaged_store_is_an_error_whenever_it_is_noticed(path):
    store = RunStore(path)
    fill(store, 200)
    store.close()
    sound = path.read_bytes()
    noticed = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        damaged = bytearray(sound)
        for at in rng.integers(100, len(sound), size=200):
            damaged[at] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        try:
            broken = RunStore(path)
        except StoreError:
            noticed += 1
            continue
        try:
            broken.trials()
            broken.add_trial("x", trial(999))
        except StoreError:
            noticed += 1
        finally:
            broken.close()
    assert noticed > 10


def test_text_that_is_no_json_is_an_error(path):
    store = RunStore(path)
    fill(store)
    store._db.execute("UPDATE measurements SET data = '{'")
    for read in (store.trials, lambda: store.find("key 0")):
        with pytest.raises(StoreError, match="cannot use the run store"):
            read()
    store.close()


def descriptors():
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_new_store_says_its_version_and_can_be_read_while_it_is_written(path):
    store = RunStore(path)
    fill(store, 1)
    store._db.execute("BEGIN IMMEDIATE")
    store._db.execute("DELETE FROM trials")
    with closing(sqlite3.connect(path, timeout=0)) as other:
        assert other.execute("SELECT value FROM meta WHERE key = 'schema'").fetchall() == [(str(SCHEMA),)]
        assert other.execute("SELECT count(*) FROM trials").fetchall() == [(1,)]
        assert other.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    store.close()


def test_another_version_is_refused_and_kept(path):
    store = RunStore(path)
    trials = fill(store)
    store.put("schema", 99)
    store.close()
    before = descriptors()
    with pytest.raises(StoreError, match="schema 99"):
        RunStore(path)
    assert descriptors() == before
    db = sqlite3.connect(path)
    assert db.execute("SELECT COUNT(*) FROM trials").fetchone()[0] == len(trials)
    db.close()


WRITER = """
import sys
from pathlib import Path
import numpy as np
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.store.run_db import RunStore
store = RunStore(Path(sys.argv[1]))
for number in range(10_000):
    placement = Placement(np.random.default_rng(number).integers(3, size=9), ("CPU_0", "CPU_1", "CPU_2"))
    store.add_trial(f"key {number}", Trial(number, placement, Measurement((1.0, 2.5), (1, 1)), 0.5 + number, "test"))
    print(number, flush=True)
"""


def test_nothing_said_to_be_stored_is_lost_by_a_kill(path):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        for _ in range(40):
            said = int(writer.stdout.readline())
        writer.kill()
        said = max([said, *(int(line) for line in writer.stdout.read().split())])
    store = RunStore(path)
    found = store.trials()
    assert [t.number for t in found] == list(range(len(found)))
    assert said + 1 <= len(found) <= said + 2
    assert found[said].placement.hash == trial(said).placement.hash
    store.close()


@pytest.mark.parametrize(
    ("what", "sql"),
    [
        ("trigger 't'", "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END"),
        (
            "view 'trials'",
            "DROP TABLE trials; CREATE VIEW trials AS WITH RECURSIVE n(number) AS "
            "(SELECT 1 UNION ALL SELECT number + 1 FROM n) SELECT number, '' placement, '' key, '' origin, "
            "0 cached FROM n",
        ),
        (
            "table 'meta'",
            "DROP TABLE meta; CREATE TABLE meta(key TEXT, value TEXT GENERATED ALWAYS AS (hex(zeroblob(1000))))",
        ),
        ("table 'more'", "CREATE TABLE more(x)"),
    ],
)
def test_a_store_that_brings_sql_of_its_own_is_refused(path, what, sql):
    store = RunStore(path)
    fill(store)
    store.close()
    with sqlite3.connect(path) as db:
        db.executescript(sql)
    db.close()
    with pytest.raises(StoreError, match=f"holds {what}, which no version of ovplace writes"):
        RunStore(path)


def test_a_placement_that_stays_pending_is_stored_once(opened):
    waiting, new = trial(0).placement, trial(1).placement
    opened.save_checkpoint({}, {0: waiting})
    opened.save_checkpoint({}, {0: waiting, 1: new})
    assert {n: p.hash for n, p in opened.checkpoint().pending.items()} == {0: waiting.hash, 1: new.hash}
