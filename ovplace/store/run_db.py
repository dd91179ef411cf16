"""The store of a run, one SQLite file: placements, measurements, trials and the placer's state.

Written in WAL mode, one transaction a step: a run killed at any time loses at most the trial being measured.

    meta(key, value)                             what the run is, finished stages as JSON
    placements(hash, devices, device_of)         each distinct placement once
    measurements(key, name, data, ratio)         by cache key; nothing is measured twice
    trials(number, placement, key, origin, cached)
    checkpoint(id, state, pending)               the placer right after its last `ask`, and what it asked for
    texts(hash, text)                            long parts of that state, such as weights, written when they change
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.text.json_text import parse_json
from ovplace.errors import StoreError
from ovplace.plugins.protocols import State

SCHEMA = 2
_DAMAGE = (sqlite3.Error, ValueError, TypeError, LookupError, AttributeError, OverflowError)
_TABLES = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS placements(hash TEXT PRIMARY KEY, devices TEXT NOT NULL, device_of BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS measurements(
    key TEXT PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL, ratio REAL);
CREATE TABLE IF NOT EXISTS trials(
    number INTEGER PRIMARY KEY, placement TEXT NOT NULL REFERENCES placements(hash),
    key TEXT NOT NULL REFERENCES measurements(key), origin TEXT NOT NULL, cached INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS checkpoint(
    id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL, pending TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS texts(hash TEXT PRIMARY KEY, text TEXT NOT NULL);
"""

_LONG = 10_000
"""Characters from which a text of a state is stored separately: weights (2.7 MB for `hsdag`) change once an episode."""


@dataclass(frozen=True)
class StoredMeasurement:
    """A measurement as the store keeps it.

    Attributes:
        measurement: the measurement.
        ratio: its latency over the reference's, measured in turns with it; infinite if either failed.
    """

    measurement: Measurement
    ratio: float


@dataclass(frozen=True)
class NamedMeasurement(StoredMeasurement):
    """A stored measurement with what it is of.

    Attributes:
        name: the candidate's name.
        key: its cache key; what is measured several times has keys that end in a blank and a text of its own.
    """

    name: str
    key: str


@dataclass(frozen=True)
class Checkpoint:
    """The state of the search after its last `ask`.

    Attributes:
        state: the placer's own state.
        pending: the placements of whose measurements it was not told yet, by the numbers of their trials; the store
            may have some of these.
    """

    state: State
    pending: Mapping[int, Placement]


def cache_key(*parts: object) -> str:
    """Return the key of a measurement: a hash of everything that the measurement depends on."""
    return _hashed(json.dumps(parts, sort_keys=True, default=str))


def _hashed(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class RunStore:
    """The open store of one run folder.

    Every method raises `StoreError` where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file; one on a read-only disk can only be read.

        Args:
            path: the SQLite file; `:memory:` for none.

        Raises:
            StoreError: it cannot be written, is not a run store, or is of another version.
        """
        self._path = path
        self._placed: set[str] = set()  # hashes of pending placements that this process has stored
        self._texts: dict[str, str] = {}  # long texts that are stored, and their hashes
        with self._guard():
            self._db = _connected(path)
        try:
            with self._guard(_DAMAGE):
                self._set_up()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _set_up(self) -> None:
        self._check_tables()
        self._db.execute("PRAGMA journal_mode=WAL")
        # A killed process loses nothing; after a power cut the last steps may be missing, and what is there fits.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_TABLES)
        found = self.get("schema")
        if found is None:
            self.put("schema", SCHEMA)
        elif found != SCHEMA:
            raise StoreError(
                f"'{self._path}' has schema {found}, this ovplace writes {SCHEMA}; use another folder with -o"
            )

    def _check_tables(self) -> None:
        """Refuse a file with views, triggers or other tables: they would run SQL of whoever wrote the file.

        Source: "Defense Against The Dark Arts", https://www.sqlite.org/security.html.
        """
        self._db.execute("PRAGMA trusted_schema=OFF")
        with closing(sqlite3.connect(":memory:")) as own:
            own.executescript(_TABLES)
            strange = sorted(_objects(self._db) - _objects(own))
        if strange:
            raise StoreError(
                f"'{self._path}' holds {strange[0][0]} '{strange[0][1]}', which no version of ovplace writes; use "
                "another folder with -o"
            )

    @contextmanager
    def _guard(self, errors: tuple[type[Exception], ...] = (sqlite3.Error,)) -> Iterator[None]:
        try:
            yield
        except errors as error:
            raise StoreError(
                f"cannot use the run store '{self._path}': {error}; check the folder and the disk, "
                "or start anew in another folder with -o"
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite has rolled back by itself when the disk is full
                    self._db.execute("ROLLBACK")
                raise

    def get(self, key: str) -> object:
        """Return the value that `put` stored under `key`; None if there is none."""
        with self._guard(_DAMAGE):
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return parse_json(row[0]) if row else None

    def put(self, key: str, value: object) -> None:
        """Store a value, in place of an earlier one of that key.

        Args:
            key: its name.
            value: what JSON can hold.
        """
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def find(self, key: str) -> StoredMeasurement | None:
        """Return the measurement stored under a cache key; None if there is none."""
        with self._guard(_DAMAGE):
            row = self._db.execute("SELECT data, ratio FROM measurements WHERE key = ?", (key,)).fetchone()
            return StoredMeasurement(Measurement.from_dict(parse_json(row[0])), _ratio(row[1])) if row else None

    def put_measurement(self, key: str, name: str, stored: StoredMeasurement) -> None:
        """Store a measurement that is not a trial's: of a baseline or a finalist.

        Args:
            key: its cache key.
            name: the candidate's name.
            stored: the measurement.
        """
        with self._transaction() as db:
            _insert_measurement(db, key, name, stored)

    def add_trial(self, key: str, trial: Trial) -> None:
        """Store a trial and, unless the store answered it, its measurement.

        Args:
            key: cache key of the measurement.
            trial: the trial.
        """
        with self._transaction() as db:
            _insert_placement(db, trial.placement)
            if not trial.cached:
                _insert_measurement(db, key, f"trial {trial.number}", StoredMeasurement(trial.measurement, trial.ratio))
            row = (trial.number, trial.placement.hash, key, trial.origin, int(trial.cached))
            db.execute("INSERT INTO trials VALUES (?, ?, ?, ?, ?)", row)

    def trials(self, first: int = 0) -> list[Trial]:
        """Return all trials in order, from number `first` on."""
        query = (
            "SELECT number, placement, data, ratio, origin, cached FROM trials JOIN measurements USING (key) "
            "WHERE number >= ? ORDER BY number"
        )
        with self._guard(_DAMAGE):
            return [
                Trial(
                    number,
                    self._placement(placement),
                    Measurement.from_dict(parse_json(data)),
                    _ratio(ratio),
                    origin,
                    bool(cached),
                )
                for number, placement, data, ratio, origin, cached in self._db.execute(query, (first,)).fetchall()
            ]

    def count_trials(self) -> int:
        """Return the number of trials: numbers may be missing, of placements whose measurement did not end in time."""
        with self._guard(_DAMAGE):
            return int(self._db.execute("SELECT COUNT(*) FROM trials").fetchone()[0])

    def measurements(self) -> list[NamedMeasurement]:
        """Return all measurements, those of trials included, in the order in which they were stored."""
        query = "SELECT data, ratio, name, key FROM measurements ORDER BY rowid"
        with self._guard(_DAMAGE):
            return [
                NamedMeasurement(Measurement.from_dict(parse_json(data)), _ratio(ratio), name, key)
                for data, ratio, name, key in self._db.execute(query).fetchall()
            ]

    def _placement(self, digest: str) -> Placement:
        """Return the placement with the hash `digest`, which must be stored."""
        devices, blob = self._db.execute(
            "SELECT devices, device_of FROM placements WHERE hash = ?", (digest,)
        ).fetchone()
        return Placement(np.frombuffer(blob, dtype="<i4").astype(np.int64), tuple(parse_json(devices)))

    def save_checkpoint(self, state: State, pending: Mapping[int, Placement]) -> None:
        """Store the placer's state right after an `ask`, with the placements whose answers it was not told yet.

        Args:
            state: the placer's state, plain data.
            pending: the placements by the numbers of their trials.
        """
        with self._transaction() as db:
            for placement in pending.values():
                if placement.hash not in self._placed:  # a fleet has many pending, most of them for long
                    _insert_placement(db, placement)
            long = {name: value for name, value in state.items() if isinstance(value, str) and len(value) >= _LONG}
            hashed = {text: self._texts.get(text) or _hashed(text) for text in long.values()}
            texts = {name: hashed[text] for name, text in long.items()}
            hashes = [placement.hash for placement in pending.values()]
            row = {"hashes": hashes, "numbers": list(pending), "texts": texts}
            short = {name: value for name, value in state.items() if name not in texts}
            db.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (json.dumps(short), json.dumps(row)))
            if hashed.keys() != self._texts.keys():
                self._replace_texts(db, hashed)
        self._placed, self._texts = set(hashes), hashed

    def _replace_texts(self, db: sqlite3.Connection, hashed: Mapping[str, str]) -> None:
        new = [(digest, text) for text, digest in hashed.items() if text not in self._texts]
        db.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", new)
        kept = ", ".join("?" * len(hashed))
        db.execute(f"DELETE FROM texts WHERE hash NOT IN ({kept})", tuple(hashed.values()))

    def checkpoint(self) -> Checkpoint | None:
        """Return the last checkpoint, None before the first `ask`."""
        with self._guard(_DAMAGE):
            row = self._db.execute("SELECT state, pending FROM checkpoint").fetchone()
            if row is None:
                return None
            state, pending = parse_json(row[0]), parse_json(row[1])
            for name, digest in pending["texts"].items():
                state[name] = self._db.execute("SELECT text FROM texts WHERE hash = ?", (digest,)).fetchone()[0]
            first = pending.get("first", 0)  # of earlier versions, whose numbers follow each other
            numbers = pending.get("numbers", range(first, first + len(pending["hashes"])))
            placements = map(self._placement, pending["hashes"])
            return Checkpoint(state, dict(zip(numbers, placements, strict=True)))


def _connected(path: Path) -> sqlite3.Connection:
    if _is_fixed(path):
        return sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True, isolation_level=None)
    return sqlite3.connect(path, isolation_level=None)


def _is_fixed(path: Path) -> bool:
    """Return whether a file is complete and lies where nothing can be written.

    SQLite reads a file in WAL mode with the help of two others beside it, and makes these. Where it cannot, it must be
    told that the file does not change; it then ignores what a killed search has left in the `-wal` file.
    """
    if os.access(path.parent, os.W_OK) or not os.access(path, os.R_OK):
        return False
    steps = path.with_name(f"{path.name}-wal")
    return not (os.access(steps, os.F_OK) and steps.stat().st_size)


def _objects(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Return type, name and definition of all that a database defines."""
    return {(kind, name, sql or "") for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master")}


def _ratio(stored: float | None) -> float:
    return float("inf") if stored is None else stored


def _insert_placement(db: sqlite3.Connection, placement: Placement) -> None:
    row = (placement.hash, json.dumps(placement.devices), placement.device_of.astype("<i4").tobytes())
    db.execute("INSERT OR IGNORE INTO placements VALUES (?, ?, ?)", row)


def _insert_measurement(db: sqlite3.Connection, key: str, name: str, stored: StoredMeasurement) -> None:
    ratio = stored.ratio if np.isfinite(stored.ratio) else None
    row = (key, name, json.dumps(stored.measurement.to_dict()), ratio)
    db.execute("INSERT OR REPLACE INTO measurements VALUES (?, ?, ?, ?)", row)
