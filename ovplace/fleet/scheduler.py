"""The scheduler: workers and searches connect to it. It passes data on, and runs nothing."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from ovplace.errors import StoreError
from ovplace.fleet.certificates import Certificates, Role
from ovplace.fleet.channel import NOT_UNDERSTOOD, Channel, ChannelClosedError, Message, open_listener
from ovplace.fleet.dispatch import PATIENCE_S, Dispatcher, Request
from ovplace.fleet.files import FileStore
from ovplace.fleet.limits import FleetLimits, MessageTooLongError
from ovplace.fleet.machine import DeviceClass, Machine
from ovplace.fleet.overview import Overview
from ovplace.version import __version__

HOST, PORT = "127.0.0.1", 8786
"""Where it listens unless told otherwise: this machine only, on the port that Dask's scheduler has."""

ALIVE_S = 5.0
"""Searches hear at least so often that the scheduler is there, in seconds."""

LONGEST_TITLE = 200
"""Characters of the title of a search that are kept."""

_LOG = logging.getLogger(__name__)


@dataclass
class _Peer:
    channel: Channel
    token: str = ""  # of a worker: which process it is
    outbox: asyncio.Queue[Message] = field(default_factory=asyncio.Queue)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self) -> None:
        with suppress(ChannelClosedError):
            while True:
                await self.channel.send(await self.outbox.get(), is_passed_on=True)


class Scheduler:
    """One fleet."""

    def __init__(
        self,
        certificates: Certificates,
        files: FileStore,
        patience_s: float = PATIENCE_S,
        log: Callable[[str], None] = _LOG.info,
        limits: FleetLimits = FleetLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        """Begin without machines and searches.

        Args:
            certificates: of this machine.
            files: where models wait for machines that need them.
            patience_s: silence after which a machine is given up, in seconds.
            log: is told who comes and goes.
            limits: what is let through.
        """
        self._limits = limits
        self._certificates, self._files, self._patience_s, self._log = certificates, files, patience_s, log
        self._peers: dict[str, _Peer] = {}
        self._dispatcher = Dispatcher(self._put, self._put, patience_s, most_requests=limits.most_requests)
        self._numbers = itertools.count(1)

    async def serve(self, address: str, ready: Callable[[str], None] = lambda _: None) -> None:
        """Listen until cancelled.

        Args:
            address: as `tls://HOST:PORT`.
            ready: is called with the address once it listens; port 0 chooses one.

        Raises:
            OvplaceError: it cannot listen there.
        """
        listener = await open_listener(address, self._certificates, self._accept)
        try:
            ready(f"tls://{listener.listen_address.rpartition('/')[2]}")
            while True:
                await asyncio.sleep(min(self._patience_s / 3, ALIVE_S))
                self._dispatcher.say_alive()
                for name in self._dispatcher.silent():
                    self._log(f"machine '{name}' is given up: it says nothing, or does not end a request")
                    self._close(name)
        finally:
            listener.stop()
            for name in list(self._peers):
                self._close(name)

    def overview(self) -> Overview:
        """Return what all machines and searches do now."""
        return self._dispatcher.overview()

    async def _accept(self, channel: Channel) -> None:
        """Serve a connection by the role in its certificate."""
        by_role: Mapping[str, Callable[[Channel], Awaitable[None]]] = {
            Role.WORKER: self._serve_worker,
            Role.CLIENT: self._serve_client,
        }
        serve = by_role.get(channel.peer_role)
        if serve is None:
            self._log(f"{channel.peer} is refused: its certificate is of a {channel.peer_role or 'nobody'}")
            channel.abort()
            return
        channel.limit(self._limits.largest_bytes)
        try:
            await serve(channel)
        except ChannelClosedError as error:
            if isinstance(error.__cause__, MessageTooLongError):
                self._log(f"{channel.peer} is cut off: {error}")
        except NOT_UNDERSTOOD as error:
            self._log(f"{channel.peer} is cut off: what it sent is not understood ({type(error).__name__}: {error})")
        finally:
            channel.abort()

    async def _serve_worker(self, channel: Channel) -> None:
        message = await channel.receive()
        try:
            machine, token = Machine.from_dict(message["machine"]), str(message["token"])
        except NOT_UNDERSTOOD:
            why = f"it does not understand what the machine says of itself; install ovplace {__version__} there"
            await channel.send({"op": "refused", "why": why})
            raise
        name = machine.name
        if not await self._is_free(name, token):
            await channel.send({"op": "refused", "why": f"there is a machine '{name}' already; choose another --name"})
            return
        async with self._writing(name, _Peer(channel, token)):
            self._put(name, {"op": "welcome", "alive_every_s": self._patience_s / 3, "limits": self._limits.to_dict()})
            self._dispatcher.join(machine)
            self._log(f"machine '{name}' joined: {len(self._dispatcher.machines)} in all")
            try:
                await self._read(channel, {"done": self._done, "alive": self._alive, "fetch": self._fetch}, name)
            finally:
                self._dispatcher.leave(name)
                self._log(f"machine '{name}' left: {len(self._dispatcher.machines)} in all")

    async def _serve_client(self, channel: Channel) -> None:
        client = f"search {next(self._numbers)}"  # no machine has a name with a blank
        async with self._writing(client, _Peer(channel)):
            self._put(client, {"op": "limits", "limits": self._limits.to_dict()})
            self._dispatcher.enter(client)
            handlers = {
                "title": self._title,
                "submit": self._submit,
                "exclude": self._exclude,
                "forget": self._forget,
                "file": self._keep,
            }
            try:
                await self._read(channel, handlers, client)
            finally:
                self._dispatcher.drop(client)
                self._files.drop_unfinished(client)

    async def _is_free(self, name: str, token: str) -> bool:
        """Return whether no other worker has a name; what is left of an earlier connection of the same one is ended.

        A network may break without a word to the scheduler, and the worker comes back before its silence is noticed.
        """
        while earlier := self._peers.get(name):
            if earlier.token != token:
                return False
            self._close(name)
            await earlier.gone.wait()
        return True

    @asynccontextmanager
    async def _writing(self, name: str, peer: _Peer) -> AsyncIterator[None]:
        """Keep a peer, and write what is put into its outbox, while a block runs."""
        self._peers[name] = peer
        task = asyncio.create_task(peer.write())
        try:
            yield
        finally:
            del self._peers[name]
            task.cancel()
            peer.gone.set()

    async def _read(
        self, channel: Channel, handlers: Mapping[str, Callable[[str, Message], Awaitable[None]]], name: str
    ) -> None:
        while True:
            message = await channel.receive()
            await handlers[message["op"]](name, message)

    async def _done(self, name: str, message: Message) -> None:
        self._dispatcher.heard(name)
        answer: Message = {key: message[key] for key in ("value", "error") if key in message}
        self._dispatcher.done(name, int(message["number"]), str(message["client"]), answer)

    async def _alive(self, name: str, _: Message) -> None:
        self._dispatcher.heard(name)

    async def _fetch(self, name: str, message: Message) -> None:
        """Send a part of a file to a machine."""
        self._dispatcher.heard(name)
        digest, offset = str(message["hash"]), int(message["offset"])
        try:
            data, is_last = self._files.chunk(digest, offset)
        except OSError:
            data, is_last = b"", True  # its content is checked there
        self._put(name, {"op": "file", "hash": digest, "offset": offset, "data": data, "is_last": is_last})

    async def _title(self, client: str, message: Message) -> None:
        self._dispatcher.name(client, str(message["title"])[:LONGEST_TITLE])

    async def _submit(self, client: str, message: Message) -> None:
        device_class = DeviceClass.from_dict(message["class"])
        body = {key: message[key] for key in ("job", "method", "arguments", "deadline_s")}
        request = Request(client, int(message["number"]), device_class, bool(message["at_home"]), body)
        str(body["job"]["number"]), float(body["deadline_s"])  # or the search is cut off
        self._dispatcher.submit(request)

    async def _exclude(self, client: str, message: Message) -> None:
        self._dispatcher.exclude(client, str(message["name"]))

    async def _forget(self, client: str, message: Message) -> None:
        self._dispatcher.forget(client, str(message["job"]))

    async def _keep(self, client: str, message: Message) -> None:
        """Keep a part of a file that a search has; with no data, say whether the file is there."""
        digest, why = str(message["hash"]), ""
        # in threads: a long file is hashed for longer than workers may be silent
        if "data" not in message:
            await asyncio.to_thread(self._files.drop_damaged, digest)
        else:
            offset, data, is_last = int(message["offset"]), message["data"], bool(message["is_last"])
            try:
                await asyncio.to_thread(self._files.add_chunk, digest, offset, data, is_last=is_last, sender=client)
            except StoreError as error:
                why = str(error)
        self._put(client, {"op": "kept", "hash": digest, "is_there": self._files.has(digest), "why": why})

    def _put(self, name: str, message: Message) -> None:
        if peer := self._peers.get(name):
            peer.outbox.put_nowait(message)

    def _close(self, name: str) -> None:
        if peer := self._peers.get(name):
            peer.channel.abort()
            self._dispatcher.leave(name)  # now: what waits for the connection to end may be stopped itself
