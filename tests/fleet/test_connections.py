"""A worker that comes back takes its place again, and files are hashed while others are heard."""

import asyncio
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from click.testing import CliRunner

from ovplace.cli import group
from ovplace.cli.output.console import Console
from ovplace.errors import BackendError, UsageError
from ovplace.fleet import wire
from ovplace.fleet.certificates import Role
from ovplace.fleet.channel import ChannelClosedError, located, open_channel, open_listener
from ovplace.fleet.cluster import Cluster
from ovplace.fleet.files import FileStore, hash_of
from ovplace.fleet.limits import FleetLimits
from ovplace.fleet.machine import DeviceClass, Machine
from ovplace.fleet.worker import Worker
from ovplace.version import __version__
from tests.fleet.test_limits import BOX, Runner, asked, fleet
from tests.fleet.test_security import scheduler


def test_a_worker_that_comes_back_takes_the_place_of_its_lost_connection(certificates, tmp_path):
    worker = Worker(Machine("box"), Runner(), FileStore(tmp_path))

    async def connect(cluster):
        return asyncio.create_task(worker.work(await open_channel(cluster.address, certificates, Role.WORKER)))

    async def come_back():
        async with fleet(certificates, tmp_path) as (cluster, _):
            first = await connect(cluster)
            await asked(cluster)
            second = await connect(cluster)
            with pytest.raises(ChannelClosedError):
                await asyncio.wait_for(first, 10)
            assert (await asked(cluster))["worker"] == "box"
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    asyncio.run(come_back())


def test_a_worker_whose_name_is_taken_says_how_to_choose_another(certificates, tmp_path):
    async def join_twice():
        async with fleet(certificates, tmp_path, Runner()) as (cluster, _):
            await asked(cluster)
            channel = await open_channel(cluster.address, certificates, Role.WORKER)
            with pytest.raises(BackendError, match=rf"refuses this machine: .* '{BOX}' already; choose another --name"):
                await Worker(Machine(BOX), Runner(), FileStore(tmp_path)).work(channel)

    asyncio.run(join_twice())


def test_a_file_is_hashed_outside_the_event_loop_which_says_and_hears_that_workers_are_alive(
    certificates, tmp_path, monkeypatch
):
    model, hashed_in = tmp_path / "model.bin", {}
    model.write_bytes(b"weights")

    def noted_hash_of(path):
        hashed_in[path.parent.name] = threading.get_ident()
        return hash_of(path)

    monkeypatch.setattr("ovplace.fleet.files.hash_of", noted_hash_of)

    async def send():
        async with scheduler(certificates, tmp_path) as (address, _):
            worker = Worker(Machine("box"), Runner(), FileStore(tmp_path / "box"))
            working = asyncio.create_task(worker.work(await open_channel(address, certificates, Role.WORKER)))
            cluster = await asyncio.to_thread(Cluster, address, certificates)
            job = wire.RemoteJob("1", "simulate", (), {"model.bin": await asyncio.to_thread(cluster.send_file, model)})
            answer = cluster.submit(job, "facts", (), 60.0, DeviceClass({}), at_home=False)
            assert (await asyncio.wait_for(asyncio.wrap_future(answer), 30))["value"] == {"fact": ""}
            await asyncio.to_thread(cluster.close)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        return threading.get_ident()

    loop = asyncio.run(send())
    assert hashed_in.keys() == {"files", "box"}, "by the scheduler and by the worker"
    assert loop not in hashed_in.values()


def test_a_worker_hears_more_while_a_job_takes_long_to_end(tmp_path):
    class Channel:
        def __init__(self, messages):
            self.messages = messages
            self.limit = self.abort = lambda *_: None

        async def send(self, message):
            pass

        async def receive(self):
            return self.messages.pop(0) if self.messages else await asyncio.Event().wait()

    async def end():
        ended = asyncio.Event()

        class Slow(Runner):
            async def forget(self, number):
                await ended.wait() if number == "waits for the other" else ended.set()

        welcome = {"op": "welcome", "limits": FleetLimits().to_dict(), "alive_every_s": 60}
        channel = Channel([welcome, *({"op": "forget", "job": job} for job in ("waits for the other", "the other"))])
        working = asyncio.create_task(Worker(Machine("box"), Slow(), FileStore(tmp_path)).work(channel))
        await asyncio.wait_for(ended.wait(), 10)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    asyncio.run(end())


@pytest.mark.parametrize(
    "address",
    ["tls://:8786", "tls://host:", "tls://host:65536", "tls://host:٣", "tcp://host:1", "tls://[tls://host]:1", ""],
)
def test_what_is_no_address_is_refused_before_anything_is_tried(address):
    with pytest.raises(UsageError, match="is not the address of a scheduler; write tls://HOST:PORT"):
        located(address)


def test_who_does_not_answer_is_told_without_the_objects_of_the_transport(certificates, monkeypatch):
    monkeypatch.setattr("ovplace.fleet.channel.CONNECT_S", 1.0)

    async def connect(address):
        with pytest.raises(BackendError) as raised:
            await open_channel(address, certificates, Role.CLIENT)
        return str(raised.value)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        silent = asyncio.run(connect(f"tls://127.0.0.1:{port}"))
    gone = asyncio.run(connect(f"tls://127.0.0.1:{port}"))
    begin = f"no connection to the scheduler at 'tls://127.0.0.1:{port}': "
    assert silent.startswith(f"{begin}nobody answers as a scheduler within 1 s; is ")
    # A refused connection is tried again, so on a slow machine the time may be up in the midst of another attempt.
    assert re.match(f"{re.escape(begin)}(.* refused|nobody answers as a scheduler within 1 s); is ", gone)
    assert "ovplace-tls" not in gone


def test_a_worker_says_once_why_it_does_not_find_its_scheduler_again(certificates, monkeypatch, tmp_path):
    monkeypatch.setattr("ovplace.fleet.worker.AGAIN_S", 0.01)
    whys, said = ["gone", "gone", "certificate expired"], []

    async def open_again(*_):
        if whys:
            raise BackendError(whys.pop(0))
        raise UsageError("enough")

    class Lost:
        abort = close = limit = lambda *_: None

        async def send(self, _):
            raise ChannelClosedError

    channels = [Lost()]

    async def opened(*_):
        return channels.pop() if channels else await open_again()

    monkeypatch.setattr("ovplace.fleet.worker.open_channel", opened)
    worker = Worker(Machine("box"), Runner(), FileStore(tmp_path))
    with pytest.raises(UsageError, match="enough"):
        asyncio.run(worker.serve("tls://host:1", certificates, said.append))
    assert said == ["the scheduler at tls://host:1 is gone; looking for it", "gone", "certificate expired"]


def test_a_search_ends_where_its_scheduler_says_nothing(certificates, monkeypatch):
    monkeypatch.setattr("ovplace.fleet.cluster.SILENCE_S", 0.1)

    async def search():
        async def be_stopped(channel):
            await channel.send({"op": "machines", "machines": []})
            with suppress(ChannelClosedError):
                while True:
                    await channel.receive()

        listener = await open_listener("tls://127.0.0.1:0", certificates, be_stopped)
        cluster = await asyncio.to_thread(Cluster, listener.contact_address, certificates)
        with pytest.raises(BackendError, match=r"has said nothing for 0\.1 s: it is stopped, .* continues the run"):
            await asked(cluster)
        await asyncio.to_thread(cluster.close)
        listener.stop()

    asyncio.run(search())


def test_a_scheduler_without_anything_to_say_says_that_it_is_there(certificates, tmp_path, monkeypatch):
    monkeypatch.setattr("ovplace.fleet.cluster.SILENCE_S", 0.2)
    monkeypatch.setattr("ovplace.fleet.scheduler.ALIVE_S", 0.01)

    async def search():
        async with fleet(certificates, tmp_path) as (cluster, _):
            await asyncio.sleep(0.3)
            assert cluster.wait_for(lambda _: True, timeout_s=0.0) == []

    asyncio.run(search())


@pytest.mark.parametrize(
    ("machine", "error"),
    [
        ({"name": "no name"}, "UsageError: 'no name' cannot name a machine"),
        ({"devices": [{"name": "X", "base": "CPU"}]}, "DeviceError: device name 'X' must contain 'CPU'"),
        ({"versions": []}, "AttributeError: 'list' object has no attribute 'items'"),
        ({"devices": 1}, "TypeError: 'int' object is not iterable"),
    ],
)
def test_a_search_says_what_it_does_not_understand_of_another_version(machine, error, certificates):
    async def search():
        async def send(channel):
            await channel.send({"op": "machines", "machines": []})
            await channel.receive()
            await channel.send({"op": "joined", "machine": {**Machine("box").to_dict(), **machine}})

        listener = await open_listener("tls://127.0.0.1:0", certificates, send)
        cluster = await asyncio.to_thread(Cluster, listener.contact_address, certificates)
        with pytest.raises(BackendError) as raised:
            await asked(cluster)
        with pytest.raises(BackendError, match="does not understand"):  # nor does a later request call it gone
            await asked(cluster)
        await asyncio.to_thread(cluster.close)
        listener.stop()
        return cluster.address, str(raised.value)

    address, text = asyncio.run(search())
    assert text.startswith(f"the scheduler at '{address}' sent what this version does not understand: {error}")
    assert f"; install ovplace {__version__} on all machines of the fleet, " in text


@pytest.mark.parametrize("host", ["[::1]", "::1"])
def test_an_address_of_ipv6_may_have_its_brackets(host, certificates, monkeypatch):
    served = []

    async def serve(_, address, ready):
        served.append(address)

    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    monkeypatch.setattr("ovplace.fleet.scheduler.Scheduler.serve", serve)
    done = CliRunner().invoke(group, ["cluster", "scheduler", "--no-dashboard", "--host", host], obj=Console())
    assert (done.exit_code, served) == (0, ["tls://[::1]:8786"])


@pytest.mark.parametrize("host", ["[::1", "[[::1]]"])
def test_a_host_that_is_none_is_refused_in_a_line(host, certificates):
    async def nobody(_):
        pass

    with pytest.raises(BackendError, match=r"cannot listen on .*; choose another with --host or --port"):
        asyncio.run(open_listener(f"tls://{host}:0", certificates, nobody))


INTERRUPTED = """
import asyncio, signal, sys, threading
from pathlib import Path
from ovplace.fleet import cluster
from ovplace.fleet.certificates import Certificates

async def no_answer(*_):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    try:
        await asyncio.sleep(60)
    finally:
        print("ended")

cluster.open_channel = no_answer
try:
    cluster.Cluster("tls://127.0.0.1:1", Certificates(Path(sys.argv[1])))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_connection_that_ctrl_c_interrupts_is_ended(certificates):
    command = [sys.executable, "-X", "dev", "-c", INTERRUPTED, certificates.folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("ended\ninterrupted\n", "")
