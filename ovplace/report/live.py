"""Following a search while it runs: a page on this machine only, which asks for the trials now and then."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from ovplace.core.measurement import Trial
from ovplace.core.result.labels import marked
from ovplace.errors import OvplaceError, PlacementError, StoreError
from ovplace.report.ablation import is_ablation
from ovplace.report.numbers import short
from ovplace.report.page import live_html
from ovplace.report.sections.history import HistorySection, history_of
from ovplace.report.sections.verdict import caution
from ovplace.search.run import EMULATED
from ovplace.session.baselines import reference_of
from ovplace.store.lock import holder
from ovplace.store.run_folder import RunFolder

HOST = "127.0.0.1"
"""Only this machine can ask: a run folder may tell more of a model than its owner wants to show."""


@dataclass(frozen=True)
class Snapshot:
    """What is known of a run at a moment.

    Attributes:
        begun: whether the run has begun.
        running: whether a process searches.
        finished: whether there is a result, of this call or an earlier one.
        caution: that figures are simulated, or that a device is emulated; may be empty.
        history: its trials so far.
    """

    begun: bool
    running: bool
    finished: bool
    caution: str
    history: HistorySection


class Follower:
    """Reads a run that may be running, each trial once: a search notices what is read beside it."""

    def __init__(self, folder: RunFolder) -> None:
        """Read nothing yet; the run need not have begun."""
        self._folder, self._trials, self._lock = folder, dict[int, Trial](), Lock()
        self._placer = self._reference = ""

    def snapshot(self) -> Snapshot:
        """Return what is known of the run now.

        Raises:
            OvplaceError: its files are damaged.
        """
        folder = self._folder
        if not (folder.has_begun and folder.database.exists()):
            self._forget()
            return Snapshot(begun=False, running=False, finished=False, caution="", history=history_of((), "", ""))
        with self._lock:
            with closing(folder.open_store()) as store:
                if store.count_trials() < len(self._trials):
                    self._forget()
                self._trials |= {trial.number: trial for trial in store.trials(first=self._first_missing())}
                emulated, self._reference = store.get(EMULATED), reference_of(store)
            self._placer = self._placer or folder.read_config().search.placer
            return self._seen(emulated if isinstance(emulated, list) else [])

    def _forget(self) -> None:
        """Forget a run that was deleted; another one may begin in its folder."""
        self._trials, self._placer = {}, ""

    def _first_missing(self) -> int:
        """Return the lowest number of a trial that was not read: a fleet measures some later than others after them."""
        return next(number for number in count() if number not in self._trials)

    def _seen(self, emulated: list[str]) -> Snapshot:
        trials = [self._trials[number] for number in sorted(self._trials)]
        machine = trials[0].measurement.facts.get("simulated", "") if trials else ""
        names = trials[0].placement.devices if trials else ()
        told = {name: name in emulated for name in names}

        def shown(name: str) -> str:
            return marked(name, told, bool(machine))

        history = history_of(trials, self._placer, shown(self._reference), shown)
        return Snapshot(
            begun=True,
            running=holder(self._folder.lock) is not None,
            finished=self._folder.result.exists(),
            caution=caution(machine, emulated),
            history=history,
        )


class Server(ThreadingHTTPServer):
    """Answers with the page, its data, and the report once the run is finished.

    Attributes:
        folder: the run folder.
        follower: reads it.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Listen on this machine.

        Args:
            folder: the run folder; the run need not have begun.
            port: 0 for any free one.

        Raises:
            OvplaceError: the port is taken, or no run can begin there.
        """
        self.folder = RunFolder(folder)
        self.folder.check_may_begin()
        if is_ablation(folder):
            raise PlacementError(f"'{folder}' is the folder of an ablation; follow one of its runs")
        self.follower = Follower(self.folder)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise StoreError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error

    @property
    def address(self) -> str:
        """The page's address."""
        return f"http://{HOST}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """Answer a request; names that only resolve to this machine are refused, as other pages may use them."""
        if self.headers.get("Host", "").rsplit(":", 1)[0] not in (HOST, "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        answers: dict[str, tuple[str, Callable[[], str]]] = {
            "/": ("text/html", lambda: live_html(self.server.folder.path.resolve().name)),
            "/data.json": ("application/json", self._data),
            "/report.html": ("text/html", lambda: self.server.folder.report.read_text(encoding="utf-8")),
        }
        kind, text = answers.get(self.path, ("", str))
        try:
            content = text().encode()
        except (OSError, OvplaceError):
            kind = ""
        if not kind:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with suppress(ConnectionError):  # the browser has gone
            self._answer(kind, content)

    def _data(self) -> str:
        data: dict[str, Any] = short(asdict(self.server.follower.snapshot()))
        return json.dumps(data, allow_nan=False)

    def _answer(self, kind: str, content: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: a line for each request would bury the address."""
