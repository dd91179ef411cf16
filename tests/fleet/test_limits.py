"""A message that is too long is told of in a line, and a search has a limited number of requests at the scheduler."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.fleet import wire
from ovplace.fleet.certificates import Role
from ovplace.fleet.channel import ChannelClosedError, open_channel, open_listener
from ovplace.fleet.cluster import Cluster
from ovplace.fleet.files import FileStore
from ovplace.fleet.limits import FleetLimits
from ovplace.fleet.machine import DeviceClass, Machine
from ovplace.fleet.scheduler import Scheduler
from ovplace.fleet.worker import Worker

JOB = wire.RemoteJob("1", "simulate", (), {})
BOX = "box" * 20
TOO_LONG = r"a message of 2\.\d MiB is longer than the 1 MiB that this fleet lets through; .* larger --largest-message"


class Runner:
    """Answers with facts of a given length."""

    def __init__(self, length=0):
        self.length = length

    async def run(self, job, method, arguments):
        return {"fact": "x" * self.length}

    async def forget(self, number):
        pass

    def begin(self):
        pass

    def close(self):
        pass


@asynccontextmanager
async def fleet(certificates, folder, runner=None, **limits):
    """Run a scheduler, a search, and a worker if there is a runner; yield the search and what the scheduler says."""
    said, address = [], asyncio.get_running_loop().create_future()
    serving = Scheduler(certificates, FileStore(folder), log=said.append, limits=FleetLimits(**limits))
    tasks = [asyncio.create_task(serving.serve("tls://127.0.0.1:0", address.set_result))]
    cluster = await asyncio.to_thread(Cluster, await address, certificates)
    try:
        if runner:
            tasks.append(asyncio.create_task(work(runner, cluster.address, certificates, folder)))
        yield cluster, said
    finally:
        await asyncio.to_thread(cluster.close)
        for task in reversed(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def work(runner, address, certificates, folder):
    await Worker(Machine(BOX), runner, FileStore(folder)).work(await open_channel(address, certificates, Role.WORKER))


async def asked(cluster, method="facts", arguments=(), job=JOB):
    answer = cluster.submit(job, method, arguments, 60.0, DeviceClass({}), at_home=False)
    return await asyncio.wait_for(asyncio.wrap_future(answer), 30)


def test_a_request_that_is_too_long_says_so_and_others_go_on(certificates, tmp_path):
    placement = Placement(np.zeros(2**19, dtype=np.int64), ("CPU",))

    async def search():
        async with fleet(certificates, tmp_path, Runner(), largest_mib=1) as (cluster, said):
            with pytest.raises(BackendError, match=TOO_LONG):
                await asked(cluster, "measure", ((Candidate("long", placement),), MeasureSpec()))
            assert (await asked(cluster))["value"] == {"fact": ""}
            assert not [line for line in said if "cut off" in line]

    asyncio.run(search())


def test_an_answer_that_is_too_long_is_an_error_of_its_machine(certificates, tmp_path):
    async def search():
        async with fleet(certificates, tmp_path, Runner(2**21), largest_mib=1) as (cluster, _):
            error = wire.unpack_error((await asked(cluster))["error"], BOX)
            with pytest.raises(BackendError, match=rf"{TOO_LONG} \(on machine '{BOX}'\)"):
                raise error

    asyncio.run(search())


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("cannot schedule new futures after shutdown")])
def test_an_unexpected_error_is_answered(certificates, tmp_path, error):
    class Failing(Runner):
        async def run(self, job, method, arguments):
            raise error

    async def search():
        async with fleet(certificates, tmp_path, Failing()) as (cluster, _):
            answer = wire.unpack_error((await asked(cluster))["error"], BOX)
            assert str(answer) == f"{type(error).__name__}: {error}".strip() + f" (on machine '{BOX}')"

    asyncio.run(search())


def test_a_request_that_cannot_be_sent_says_so_and_others_go_on(certificates, tmp_path):
    async def search():
        async with fleet(certificates, tmp_path, Runner()) as (cluster, _):
            with pytest.raises(BackendError, match="a request cannot be sent: "):
                await asked(cluster, job=replace(JOB, seed=2**64))
            assert (await asked(cluster))["value"] == {"fact": ""}

    asyncio.run(search())


@pytest.mark.parametrize("fact", [np.int64(4), 2**64])
def test_an_answer_that_cannot_be_sent_is_an_error_of_its_machine(certificates, tmp_path, fact):
    class Odd(Runner):
        async def run(self, job, method, arguments):
            return {"fact": fact}

    async def search():
        async with fleet(certificates, tmp_path, Odd()) as (cluster, _):
            error = wire.unpack_error((await asked(cluster))["error"], BOX)
            assert str(error).endswith(f"(on machine '{BOX}')")

    asyncio.run(search())


def test_what_is_within_the_limit_passes_the_scheduler_which_adds_a_name(certificates, tmp_path):
    length = 2**20 - 80

    async def search():
        async with fleet(certificates, tmp_path, Runner(length), largest_mib=1) as (cluster, _):
            assert len((await asked(cluster))["value"]["fact"]) == length

    asyncio.run(search())


def test_a_peer_that_sends_longer_messages_is_cut_off(certificates, tmp_path):
    async def attack():
        async with fleet(certificates, tmp_path, largest_mib=1) as (cluster, said):
            channel = await open_channel(cluster.address, certificates, Role.CLIENT)
            await channel.send({"op": "forget", "job": "x" * 2**21})
            with pytest.raises(ChannelClosedError):
                while True:
                    await channel.receive()
            (line,) = [line for line in said if "cut off" in line]
            assert "a message of 2.0 MiB is longer than the 1 MiB" in line

    asyncio.run(attack())


def test_a_search_says_that_what_it_was_sent_is_too_long(certificates):
    async def search():
        async def send(channel):
            await channel.send({"op": "limits", "limits": FleetLimits(largest_mib=1).to_dict()})
            await channel.send({"op": "machines", "machines": []})
            await channel.receive()
            await channel.send({"op": "done", "number": 1, "value": "x" * 2**21})

        listener = await open_listener("tls://127.0.0.1:0", certificates, send)
        cluster = await asyncio.to_thread(Cluster, listener.contact_address, certificates)
        with pytest.raises(BackendError, match=TOO_LONG):
            await asked(cluster)
        await asyncio.to_thread(cluster.close)
        listener.stop()

    asyncio.run(search())


def test_requests_beyond_the_limit_wait_in_the_search(certificates, tmp_path):
    async def search():
        async with fleet(certificates, tmp_path, most_requests=2) as (cluster, _):
            waiting = [asyncio.create_task(asked(cluster)) for _ in range(7)]
            await asyncio.sleep(0.2)
            task = asyncio.create_task(work(Runner(), cluster.address, certificates, tmp_path))
            answers = await asyncio.gather(*waiting)
            assert [answer["number"] for answer in answers] == list(range(1, 8))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(search())


def test_a_search_that_does_not_wait_is_refused(certificates, tmp_path):
    async def search():
        async with fleet(certificates, tmp_path, most_requests=2) as (cluster, _):
            cluster._limits = FleetLimits()
            waiting = [asyncio.create_task(asked(cluster)) for _ in range(2)]
            await asyncio.sleep(0.2)
            with pytest.raises(BackendError, match="refuses a request: 2 requests of this search are not answered"):
                await asked(cluster)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(search())
