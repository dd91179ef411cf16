"""Nobody without a certificate of the fleet is let in, and nobody with one can run code on another machine."""

import asyncio
import pickle
import shutil
import ssl
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from distributed.comm.core import CommClosedError, connect, listen
from distributed.protocol.serialize import Serialize, ToPickle

from ovplace.errors import BackendError, UsageError
from ovplace.fleet.certificates import Certificates, Role, make_certificates
from ovplace.fleet.channel import ChannelClosedError, open_channel
from ovplace.fleet.cluster import Cluster
from ovplace.fleet.files import FileStore
from ovplace.fleet.machine import Machine
from ovplace.fleet.scheduler import Scheduler
from ovplace.fleet.worker import Worker
from ovplace.version import __version__


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@asynccontextmanager
async def scheduler(certificates, tmp_path, **room):
    """Run a scheduler; yield its address and what it says."""
    said, address = [], asyncio.get_running_loop().create_future()
    serving = Scheduler(certificates, FileStore(tmp_path / "files", **room), patience_s=1.0, log=said.append)
    task = asyncio.create_task(serving.serve("tls://127.0.0.1:0", address.set_result))
    try:
        yield await address, said
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def messages(path):
    """Return the ways in which Dask carries objects, and a plain message that names a function."""
    bomb = Bomb(path)
    return {
        "pickled": {"op": "submit", "job": ToPickle(bomb)},
        "serialised": {"op": "submit", "job": Serialize(bomb)},
        "bytes": {"op": "run_function", "function": pickle.dumps(bomb)},
        "array": [1, 2, 3],
    }


@pytest.mark.parametrize("kind", messages(None))
@pytest.mark.parametrize("role", [Role.CLIENT, Role.WORKER])
def test_a_pickled_callable_is_refused_though_its_sender_has_a_certificate(kind, role, certificates, tmp_path):
    async def attack():
        async with scheduler(certificates, tmp_path) as (address, _):
            comm = await connect(address, **certificates.connection_arguments(role))
            await comm.write(messages(tmp_path / "struck")[kind])
            with pytest.raises(CommClosedError):
                while True:
                    await comm.read()
            channel = await open_channel(address, certificates, Role.CLIENT)  # it still serves others
            assert [(await channel.receive())["op"] for _ in range(2)] == ["limits", "machines"]
            await channel.close()

    asyncio.run(attack())
    assert not (tmp_path / "struck").exists()


@pytest.mark.parametrize("kind", messages(None))
def test_a_worker_takes_no_pickled_callable_from_its_scheduler(kind, certificates, tmp_path):
    async def attack():
        async def strike(comm):
            await comm.read()
            await comm.write(messages(tmp_path / "struck")[kind])

        listener = listen("tls://127.0.0.1:0", strike, **certificates.listening_arguments())
        await listener.start()
        channel = await open_channel(listener.contact_address, certificates, Role.WORKER)
        worker = Worker(Machine("box"), None, FileStore(tmp_path))
        with pytest.raises((ChannelClosedError, BackendError)):
            await worker.work(channel)
        listener.stop()

    asyncio.run(attack())
    assert not (tmp_path / "struck").exists()


@pytest.mark.parametrize(
    ("said_of_itself", "error"),
    [
        ({"name": "no name"}, "UsageError: 'no name' cannot name a machine"),
        ({"devices": [{"name": "X", "base": "CPU"}]}, "DeviceError: device name 'X' must contain 'CPU'"),
    ],
)
def test_a_machine_that_is_not_understood_is_told_so(said_of_itself, error, certificates, tmp_path):
    async def join():
        async with scheduler(certificates, tmp_path) as (address, said):
            channel = await open_channel(address, certificates, Role.WORKER)
            machine = {**Machine("box").to_dict(), **said_of_itself}
            await channel.send({"op": "join", "machine": machine, "token": "1"})
            answer = await channel.receive()
            await channel.close()
            return answer, said

    answer, said = asyncio.run(join())
    assert answer["op"] == "refused"
    assert answer["why"].startswith("it does not understand what the machine says of itself; install ovplace")
    assert f"is cut off: what it sent is not understood ({error}" in said[-1]


def test_dask_itself_would_run_it(certificates, tmp_path):
    """What the tests above refuse does strike a peer that reads as Dask does."""

    async def attack():
        struck = asyncio.Event()

        async def read(comm):
            await comm.read()
            struck.set()

        listener = listen("tls://127.0.0.1:0", read, deserialize=False, **certificates.listening_arguments())
        await listener.start()
        comm = await connect(listener.contact_address, **certificates.connection_arguments(Role.CLIENT))
        await comm.write(messages(tmp_path / "struck")["pickled"])
        await asyncio.wait_for(struck.wait(), 10)
        await comm.close()
        listener.stop()

    asyncio.run(attack())
    assert (tmp_path / "struck").exists()


def test_another_authority_is_refused(certificates, strangers, tmp_path):
    async def knock():
        async with scheduler(certificates, tmp_path) as (address, said):
            with pytest.raises(BackendError, match="same authority"):
                await open_channel(address, strangers, Role.WORKER)
            # One that does not check whom it connects to is refused by the other side.
            arguments = strangers.connection_arguments(Role.WORKER)
            arguments["ssl_context"].verify_mode = ssl.CERT_NONE
            with pytest.raises((CommClosedError, OSError)):
                await (await connect(address, **arguments)).read()
            assert said == []

    asyncio.run(knock())


def test_nobody_comes_in_without_a_certificate(certificates, tmp_path):
    async def knock():
        async with scheduler(certificates, tmp_path) as (address, said):
            context = ssl.create_default_context(cafile=certificates.authority)
            context.check_hostname = False
            with pytest.raises((CommClosedError, OSError)):
                await (await connect(address, ssl_context=context)).read()
            assert said == []

    asyncio.run(knock())


def test_a_box_cannot_pose_as_the_scheduler_nor_start_a_search(certificates, monkeypatch, tmp_path):
    monkeypatch.setattr(Certificates, "check", lambda *_: None)  # a thief does not check what is stolen
    stolen = Certificates(tmp_path / "stolen")
    stolen.folder.mkdir()
    shutil.copy(certificates.authority, stolen.authority)
    for role in Role:
        shutil.copy(certificates.of(Role.WORKER), stolen.of(role))

    async def pose():
        listener = listen("tls://127.0.0.1:0", lambda comm: None, **stolen.listening_arguments())
        await listener.start()
        with pytest.raises(BackendError, match="same authority"):
            await open_channel(listener.contact_address, certificates, Role.CLIENT)
        listener.stop()
        async with scheduler(certificates, tmp_path) as (address, said):
            channel = await open_channel(address, stolen, Role.CLIENT)
            await channel.send({"op": "forget", "job": "1"})
            assert (await channel.receive())["op"] == "refused"
            with pytest.raises(ChannelClosedError):
                await channel.receive()
            assert "is cut off" in said[-1]

    asyncio.run(pose())


def test_a_taken_name_is_refused(certificates, tmp_path):
    async def join_twice():
        async with scheduler(certificates, tmp_path) as (address, _):
            message = {"op": "join", "machine": Machine("box").to_dict(), "token": "first"}
            channels = [await open_channel(address, certificates, Role.WORKER) for _ in range(2)]
            await channels[0].send(message)
            assert (await channels[0].receive())["op"] == "welcome"
            await channels[1].send({**message, "token": "second"})
            assert (await channels[1].receive())["op"] == "refused"

    asyncio.run(join_twice())


def test_a_worker_of_another_version_learns_why_it_is_refused(certificates, tmp_path):
    async def join():
        async with scheduler(certificates, tmp_path) as (address, said):
            channel = await open_channel(address, certificates, Role.WORKER)
            await channel.send({"op": "join", "machine": Machine("box").to_dict()})
            answer = await channel.receive()
            assert answer["op"] == "refused"
            assert f"install ovplace {__version__} there" in answer["why"]
            with pytest.raises(ChannelClosedError):
                await channel.receive()
            assert "is cut off: what it sent is not understood (KeyError: 'token')" in said[-1]

    asyncio.run(join())


def test_a_model_for_which_there_is_no_room_is_refused_in_a_line(certificates, tmp_path):
    model, small = tmp_path / "model.bin", tmp_path / "small.bin"
    model.write_bytes(bytes(11))
    small.write_bytes(bytes(10))

    async def send():
        async with scheduler(certificates, tmp_path, room_bytes=10) as (address, said):
            cluster = await asyncio.to_thread(Cluster, address, certificates)
            with pytest.raises(BackendError, match=r"cannot keep 'model\.bin': .* with a larger --room"):
                await asyncio.to_thread(cluster.send_file, model)
            await asyncio.to_thread(cluster.send_file, small)
            await asyncio.to_thread(cluster.close)
            assert said == []

    asyncio.run(send())


def test_a_search_that_leaves_in_the_middle_of_a_file_leaves_nothing_of_it(certificates, tmp_path):
    part = {"op": "file", "hash": "0" * 64, "offset": 0, "data": b"part", "is_last": False}

    async def send():
        async with scheduler(certificates, tmp_path) as (address, _):
            channel = await open_channel(address, certificates, Role.CLIENT)
            await channel.send(part)
            while (await channel.receive())["op"] != "kept":
                pass
            assert len(list((tmp_path / "files").iterdir())) == 1
            await channel.close()
            async with asyncio.timeout(10):
                while list((tmp_path / "files").iterdir()):
                    await asyncio.sleep(0.01)

    asyncio.run(send())


def test_certificates_are_secret_and_not_replaced(certificates):
    assert {path.stat().st_mode & 0o777 for path in certificates.folder.iterdir()} == {0o600}
    with pytest.raises(UsageError, match="holds certificates"):
        make_certificates(certificates.folder)


def test_missing_certificates_are_named(tmp_path):
    with pytest.raises(UsageError, match=r"no certificate '.*ca.pem'; 'ovplace cluster certs' makes them"):
        Certificates(tmp_path).connection_arguments(Role.WORKER)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "127.0.0.1:1", "tls://127.0.0.1", "tls://host:x"])
def test_addresses(address, certificates):
    with pytest.raises(UsageError, match="tls://HOST:PORT"):
        asyncio.run(open_channel(address, certificates, Role.CLIENT))
