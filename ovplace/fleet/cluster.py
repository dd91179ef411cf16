"""The fleet as a search sees it: its machines, requests to them, and what comes back."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ovplace.errors import BackendError
from ovplace.fleet import wire
from ovplace.fleet.certificates import Certificates, Role
from ovplace.fleet.channel import NOT_UNDERSTOOD, ChannelClosedError, Message, open_channel
from ovplace.fleet.files import hash_of, read_chunk
from ovplace.fleet.limits import FleetLimits, MessageTooLongError
from ovplace.fleet.machine import DeviceClass, Machine
from ovplace.version import __version__

T = TypeVar("T")

WAIT_S = 60.0
"""Time without any machine of the class after which a search ends; it can be continued."""

SILENCE_S = 60.0
"""Silence of the scheduler after which a search ends; it can be continued."""

POLL_S = 0.5

_LOOKS = 10
"""How often a search looks whether the scheduler is silent before it ends."""

_GONE = "the scheduler at '{address}' is gone; start it again, the same command continues the run"
_SILENT = (
    "the scheduler at '{address}' has said nothing for {silence_s:g} s: it is stopped, as by Ctrl-Z, or its machine "
    "hangs; let it go on or start it again, the same command continues the run"
)
_OTHER_VERSION = (
    "the scheduler at '{address}' sent what this version does not understand: {why}; install ovplace {version} on all "
    "machines of the fleet, the same command continues the run"
)


class Cluster:
    """A connection to a scheduler, which a thread of its own serves. Its methods may be called from any thread.

    Requests beyond those that the scheduler takes at once wait here until others are answered.
    """

    def __init__(self, address: str, certificates: Certificates, title: str = "") -> None:
        """Connect.

        Args:
            address: of the scheduler, as `tls://HOST:PORT`.
            certificates: of this machine.
            title: what this search places, for the dashboard of the scheduler.

        Raises:
            OvplaceError: nobody answers there, or refuses, or says what this version does not understand.
        """
        self.address = address
        self.changes = 0  # of the machines that are there
        self.training: frozenset[str] = frozenset()  # machines that train now, which may take hours
        self._machines: dict[str, Machine] = {}
        self._limits, self._why_gone = FleetLimits(), _GONE.format(address=address)
        self._asked: dict[int, Future[Message]] = {}
        self._held: deque[Message] = deque()
        self._in_flight = 0  # requests that are sent and not answered
        self._looked = 0  # for a sign of life, since the last one
        self._kept: dict[str, asyncio.Future[Message]] = {}
        self._sent: dict[tuple[str, int, int], str] = {}
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._known, self._is_gone = threading.Event(), False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster", daemon=True)
        self._thread.start()
        try:
            self._channel = self._do(open_channel(address, certificates, Role.CLIENT))
        except BaseException:
            self._stop()
            raise
        self._reader = asyncio.run_coroutine_threadsafe(self._read(), self._loop)
        if title:
            self._post({"op": "title", "title": title})
        if not self._known.wait(WAIT_S) or self._is_gone:
            self.close()
            raise self._gone()

    def close(self) -> None:
        """Leave; machines end what they keep for this search."""
        with suppress(ChannelClosedError, RuntimeError):
            self._do(self._channel.close())
        with suppress(Exception):  # whatever ended it was raised where an answer was waited for
            self._reader.result(WAIT_S)
        self._stop()

    def machines(self, of: DeviceClass | None = None) -> list[Machine]:
        """Return the machines that are there now, by name.

        Args:
            of: only those of this class; all by default.
        """
        with self._changed:
            found = [machine for machine in self._machines.values() if of is None or of.has(machine)]
        return sorted(found, key=lambda machine: machine.name)

    def wait_for(self, suits: Callable[[Machine], bool], timeout_s: float = WAIT_S) -> list[Machine]:
        """Return the machines that suit, as soon as there is one; none if there is none in time.

        Args:
            suits: says whether a machine does.
            timeout_s: seconds to wait.

        Raises:
            BackendError: the scheduler is gone.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_gone or any(map(suits, self._machines.values())), timeout_s)
            if self._is_gone:
                raise self._gone()
            found = [machine for machine in self._machines.values() if suits(machine)]
        return sorted(found, key=lambda machine: machine.name)

    def send_file(self, path: Path) -> str:
        """Send a file to the scheduler, unless it is there; return its hash.

        Raises:
            BackendError: the scheduler is gone, or cannot keep it.
        """
        stat = path.stat()
        key = (str(path), stat.st_size, stat.st_mtime_ns)
        if key not in self._sent:
            digest = hash_of(path)
            self._do(self._send_file(path, digest))
            self._sent[key] = digest
        return self._sent[key]

    def submit(
        self,
        job: wire.RemoteJob,
        method: str,
        arguments: tuple[Any, ...],
        deadline_s: float,
        device_class: DeviceClass,
        *,
        at_home: bool,
    ) -> Future[Message]:
        """Ask for an operation; return what its answer will be in.

        Args:
            job: what it is of.
            method: one of `wire.OPERATIONS`.
            arguments: of it.
            deadline_s: time limit of the request, in seconds.
            device_class: machines that may run it.
            at_home: whether it runs on the one machine on which all such requests of this search run.
        """
        number, answer = next(self._numbers), Future[Message]()
        with self._changed:
            if self._is_gone:
                answer.set_exception(self._gone())
                return answer
            self._asked[number] = answer
        message = {
            "op": "submit",
            "number": number,
            "job": job.to_dict(),
            "method": method,
            "arguments": wire.pack_arguments(method, arguments),
            "deadline_s": deadline_s,
            "class": device_class.to_dict(),
            "at_home": at_home,
        }
        asyncio.run_coroutine_threadsafe(self._request(message), self._loop)
        return answer

    def exclude(self, name: str) -> None:
        """Ask a machine for nothing more."""
        self._post({"op": "exclude", "name": name})

    def forget(self, job: str) -> None:
        """Let machines end what they keep for the job of this number."""
        self._post({"op": "forget", "job": job})

    def _post(self, message: Message) -> None:
        async def send() -> None:
            with suppress(ChannelClosedError):  # the reader will tell
                await self._channel.send(message)

        asyncio.run_coroutine_threadsafe(send(), self._loop)

    async def _request(self, message: Message) -> None:
        """Send a request, now or when others are answered; as at the scheduler, those at home go first."""
        if message["at_home"]:
            self._held.appendleft(message)
        else:
            self._held.append(message)
        await self._send_held()

    async def _send_held(self) -> None:
        """Send requests that wait, as many as the scheduler takes."""
        while self._held and self._in_flight < self._limits.most_requests:
            message = self._held.popleft()
            self._in_flight += 1
            with suppress(ChannelClosedError):  # the reader will tell
                try:
                    await self._channel.send(message)
                except MessageTooLongError as error:
                    self._settle(message["number"], error)
                except (TypeError, ValueError, OverflowError) as error:  # no plain data, or a number beyond 64 bits
                    self._settle(message["number"], BackendError(f"a request cannot be sent: {error}"))

    def _settle(self, number: int, answer: Message | BackendError) -> None:
        """Give a request its answer, or an error."""
        asked = self._asked.pop(number, None)
        if asked is None:
            return
        self._in_flight -= 1
        if isinstance(answer, BackendError):
            asked.set_exception(answer)
        else:
            asked.set_result(answer)

    async def _send_file(self, path: Path, digest: str) -> None:
        kept = await self._keep({"hash": digest})
        offset, is_last = 0, bool(kept["is_there"])
        while not is_last:
            data, is_last = read_chunk(path, offset)
            kept = await self._keep({"hash": digest, "offset": offset, "data": data, "is_last": is_last})
            offset += len(data)
            if kept["why"]:
                raise BackendError(f"the scheduler at '{self.address}' cannot keep '{path.name}': {kept['why']}")
        if not kept["is_there"]:
            raise BackendError(f"the scheduler at '{self.address}' could not keep '{path.name}'")

    async def _keep(self, message: Message) -> Message:
        kept = self._kept[message["hash"]] = self._loop.create_future()
        try:
            await self._channel.send({"op": "file", **message})
        except ChannelClosedError:
            raise self._gone() from None
        found: Message = await kept
        return found

    async def _watch(self) -> None:
        """End the connection to a scheduler that is silent for too long.

        Looks are counted, not seconds: a search that was stopped itself has heard nothing either.
        """
        while self._looked < _LOOKS:
            await asyncio.sleep(SILENCE_S / _LOOKS)
            self._looked += 1
        self._why_gone = _SILENT.format(address=self.address, silence_s=SILENCE_S)
        self._channel.abort()

    async def _read(self) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            while True:
                self._take(await self._channel.receive())
                self._looked = 0
                await self._send_held()
        except ChannelClosedError as error:
            if isinstance(error.__cause__, MessageTooLongError):
                self._why_gone = str(error)
        except NOT_UNDERSTOOD as error:
            why = f"{type(error).__name__}: {error}"
            self._why_gone = _OTHER_VERSION.format(address=self.address, why=why, version=__version__)
        finally:
            watching.cancel()
            self._channel.abort()
            self._end()

    def _take(self, message: Message) -> None:
        op = message["op"]
        if op == "done":
            self._settle(int(message["number"]), message)
        elif op == "refused":
            self._settle(int(message["number"]), BackendError(f"the scheduler refuses a request: {message['why']}"))
        elif op == "limits":
            self._limits = FleetLimits.from_dict(message["limits"])
            self._channel.limit(self._limits.largest_bytes)
        elif op == "training":
            self.training = frozenset(map(str, message["names"]))
        elif op == "kept":
            self._kept.pop(message["hash"]).set_result(message)
        elif op != "alive":
            with self._changed:
                self._update(op, message)
                self.changes += 1
                self._changed.notify_all()

    def _update(self, op: str, message: Message) -> None:
        if op == "left":
            self._machines.pop(message["name"], None)
            return
        data = message["machines"] if op == "machines" else [message["machine"]]
        self._machines.update({machine.name: machine for machine in map(Machine.from_dict, data)})
        self._known.set()

    def _end(self) -> None:
        """Let all who wait know that the scheduler is gone."""
        with self._changed:
            self._is_gone = True
            self._machines.clear()
            self.changes += 1
            self._changed.notify_all()
        self._known.set()
        for kept in self._kept.values():
            kept.set_exception(self._gone())
        for answer in self._asked.values():
            answer.set_exception(self._gone())
        self._asked.clear()

    def _gone(self) -> BackendError:
        return BackendError(self._why_gone)

    def _do(self, act: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result()

    def _stop(self) -> None:
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result(WAIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    """End what still runs in the loop, such as a connection that Ctrl-C has interrupted: asyncio would tell of it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
