"""The worker: one process a machine, which measures and trains what the scheduler hands it, and takes nothing else.

It listens on no port. What it is sent is data: an operation of `wire.OPERATIONS`, a job, and files by their hashes.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol

from ovplace.errors import BackendError, OvplaceError, StoreError
from ovplace.fleet import wire
from ovplace.fleet.certificates import Certificates, Role
from ovplace.fleet.channel import Channel, ChannelClosedError, Message, open_channel
from ovplace.fleet.files import FileStore
from ovplace.fleet.limits import FleetLimits, MessageTooLongError
from ovplace.fleet.machine import Machine

AGAIN_S = 5.0
"""Pause before a worker that has lost its scheduler looks for it again."""

_Act = Coroutine[Any, Any, None]


class JobRunner(Protocol):
    """What runs requests, one at a time."""

    async def run(self, job: wire.RemoteJob, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return what an operation returns."""

    async def forget(self, number: str) -> None:
        """End what is kept for a job, in the middle of a request if need be, and refuse requests of it from then on."""

    def begin(self) -> None:
        """Take requests of a scheduler, of jobs that were ended before as well."""

    def close(self) -> None:
        """End everything."""


class Worker:
    """The worker of one machine."""

    def __init__(self, machine: Machine, runner: JobRunner, files: FileStore) -> None:
        """Begin without a scheduler.

        Args:
            machine: what this machine has.
            runner: runs requests.
            files: keeps files of jobs.
        """
        self._machine, self._runner, self._files = machine, runner, files
        self._token = secrets.token_hex(16)  # tells the scheduler that a new connection is of the same worker
        self._arrivals: dict[str, asyncio.Future[Message]] = {}

    async def serve(self, address: str, certificates: Certificates, log: Callable[[str], None]) -> None:
        """Work until cancelled; a scheduler that is gone is looked for again.

        Args:
            address: of the scheduler, as `tls://HOST:PORT`.
            certificates: of this machine.
            log: is told what happens.

        Raises:
            OvplaceError: the scheduler is not there at the beginning, or refuses this machine.
        """
        channel = await open_channel(address, certificates, Role.WORKER)
        try:
            while True:
                with suppress(ChannelClosedError):
                    await self.work(channel, lambda: log(f"machine '{self._machine.name}' works for {address}"))
                log(f"the scheduler at {address} is gone; looking for it")
                channel = await _found_again(address, certificates, log)
        finally:
            self._runner.close()

    async def work(self, channel: Channel, begun: Callable[[], None] = lambda: None) -> None:
        """Work for one scheduler until it is gone.

        Args:
            channel: the connection to it.
            begun: is called as soon as it has taken this machine in.

        Raises:
            BackendError: it refuses this machine.
            ChannelClosedError: it is gone.
        """
        tasks: set[asyncio.Task[None]] = set()
        jobs: set[str] = set()

        def start(act: _Act) -> None:
            tasks.add(task := asyncio.create_task(act))
            task.add_done_callback(tasks.discard)

        try:
            alive_every_s = await self._join(channel)
            begun()
            start(_say_alive(channel, alive_every_s))
            while True:
                self._act_on(await channel.receive(), channel, jobs, start)
        finally:
            channel.abort()
            for task in tasks:
                task.cancel()
            self._files.drop_unfinished()
            for number in jobs:
                await self._runner.forget(number)

    def _act_on(self, message: Message, channel: Channel, jobs: set[str], start: Callable[[_Act], None]) -> None:
        """Begin what a message asks for; `jobs` are those that have something here."""
        if message["op"] == "run":
            jobs.add(str(message["job"]["number"]))
            start(self._answer(channel, message))
        elif message["op"] == "file":
            self._arrived(message)
        elif message["op"] == "forget":
            jobs.discard(str(message["job"]))
            # Not awaited: it may have to wait for a request of another job, which may be ended meanwhile.
            start(self._runner.forget(str(message["job"])))

    async def _join(self, channel: Channel) -> float:
        """Introduce this machine to a scheduler, and take its limits; return how often it wants a sign of life, in s.

        Raises:
            BackendError: it refuses this machine.
            ChannelClosedError: it is gone.
        """
        await channel.send({"op": "join", "machine": self._machine.to_dict(), "token": self._token})
        message = await channel.receive()
        if message["op"] != "welcome":
            raise BackendError(f"the scheduler refuses this machine: {message.get('why', 'it does not say why')}")
        channel.limit(FleetLimits.from_dict(message["limits"]).largest_bytes)
        self._runner.begin()
        return float(message["alive_every_s"])

    async def _answer(self, channel: Channel, message: Message) -> None:
        """Run a request and send its answer; an error is an answer, too."""
        method = str(message["method"])
        answer: Mapping[str, Any]
        try:
            job = wire.RemoteJob.from_dict(message["job"])
            arguments = wire.unpack_arguments(method, message["arguments"])
            value = await self._run(channel, job, method, arguments)
            answer = {"value": wire.pack_value(method, value)}
        except OvplaceError as error:
            answer = {"error": wire.pack_error(error)}
        except OSError as error:
            answer = {"error": wire.pack_error(StoreError(f"the job cannot be set up: {error.strerror or error}"))}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            refusal = BackendError(f"the request is not understood: {type(error).__name__}: {error}")
            answer = {"error": wire.pack_error(refusal)}
        except Exception as error:  # without an answer the search would wait for it
            answer = {"error": wire.pack_error(BackendError(f"{type(error).__name__}: {error}"))}
        done = {"op": "done", "number": message["number"], "client": message["client"]}
        with suppress(ChannelClosedError):
            try:
                await channel.send({**done, **answer})
            except (MessageTooLongError, TypeError, ValueError, OverflowError) as error:
                await channel.send({**done, "error": wire.pack_error(error)})

    async def _run(self, channel: Channel, job: wire.RemoteJob, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return what an operation returns; a file that is damaged here is fetched anew."""
        await self._fetch_all(channel, job)
        try:
            return await self._runner.run(job, method, arguments)
        except StoreError:
            if all(map(self._files.has, job.files.values())):  # a damaged one would have been deleted as it was read
                raise
        await self._fetch_all(channel, job)
        return await self._runner.run(job, method, arguments)

    async def _fetch_all(self, channel: Channel, job: wire.RemoteJob) -> None:
        for digest in job.files.values():
            await self._fetch(channel, digest)

    async def _fetch(self, channel: Channel, digest: str) -> None:
        """Get a file from the scheduler, unless it is here.

        Raises:
            StoreError: it arrived damaged, or cannot be kept.
        """
        offset, is_last = 0, self._files.has(digest)
        while not is_last:
            arrival = self._arrivals[digest] = asyncio.get_running_loop().create_future()
            await channel.send({"op": "fetch", "hash": digest, "offset": offset})
            part = await arrival
            is_last = bool(part["is_last"])
            # in a thread: a long file is hashed for longer than a worker may be silent
            await asyncio.to_thread(self._files.add_chunk, digest, offset, part["data"], is_last=is_last)
            offset += len(part["data"])

    def _arrived(self, message: Message) -> None:
        arrival = self._arrivals.pop(str(message["hash"]), None)
        if arrival is not None and not arrival.done():
            arrival.set_result(message)


async def _say_alive(channel: Channel, every_s: float) -> None:
    with suppress(ChannelClosedError):
        while True:
            await asyncio.sleep(every_s)
            await channel.send({"op": "alive"})


async def _found_again(address: str, certificates: Certificates, log: Callable[[str], None]) -> Channel:
    """Return a new connection as soon as there is one; why there is none yet is said once, until it changes."""
    said = ""
    while True:
        await asyncio.sleep(AGAIN_S)
        try:
            return await open_channel(address, certificates, Role.WORKER)
        except BackendError as error:
            if str(error) != said:
                log(said := str(error))
