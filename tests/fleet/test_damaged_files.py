"""A file that was damaged where it is kept is sent anew, once."""

import asyncio

import pytest

from ovplace.fleet import wire
from ovplace.fleet.certificates import Role
from ovplace.fleet.channel import open_channel
from ovplace.fleet.cluster import Cluster
from ovplace.fleet.files import FileStore
from ovplace.fleet.machine import DeviceClass, Machine
from ovplace.fleet.worker import Worker
from tests.fleet.test_limits import Runner
from tests.fleet.test_security import scheduler


class Reader(Runner):
    """Answers with the content of the model."""

    def __init__(self, files, target):
        super().__init__()
        self.files, self.target, self.runs = files, target, 0

    async def run(self, job, method, arguments):
        self.runs += 1
        self.files.copy(job.files["model.bin"], self.target)
        return {"fact": self.target.read_text()}


async def ask(cluster, model):
    job = wire.RemoteJob("1", "simulate", (), {"model.bin": await asyncio.to_thread(cluster.send_file, model)})
    answer = cluster.submit(job, "facts", (), 60.0, DeviceClass({}), at_home=False)
    return await asyncio.wait_for(asyncio.wrap_future(answer), 30)


@pytest.mark.parametrize("where", [["box"], ["files"], ["box", "files"]], ids="-".join)
def test_it_is_sent_anew(where, certificates, tmp_path):
    model, files = tmp_path / "model.bin", FileStore(tmp_path / "box")
    model.write_text("weights")

    async def search():
        async with scheduler(certificates, tmp_path) as (address, _):
            worker = Worker(Machine("box"), Reader(files, tmp_path / "copy"), files)
            working = asyncio.create_task(worker.work(await open_channel(address, certificates, Role.WORKER)))
            for damaged in ([], where):
                for folder in damaged:
                    (kept,) = (tmp_path / folder).iterdir()
                    kept.write_text("")
                cluster = await asyncio.to_thread(Cluster, address, certificates)
                assert (await ask(cluster, model)).get("value") == {"fact": "weights"}
                await asyncio.to_thread(cluster.close)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(search())


def test_another_error_of_files_is_not_tried_again(certificates, tmp_path):
    model, files = tmp_path / "model.bin", FileStore(tmp_path / "box")
    model.write_text("weights")
    runner = Reader(files, tmp_path / "no folder" / "copy")

    async def search():
        async with scheduler(certificates, tmp_path) as (address, _):
            worker = Worker(Machine("box"), runner, files)
            working = asyncio.create_task(worker.work(await open_channel(address, certificates, Role.WORKER)))
            cluster = await asyncio.to_thread(Cluster, address, certificates)
            assert "cannot copy a file" in str((await ask(cluster, model))["error"])
            await asyncio.to_thread(cluster.close)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(search())
    assert runner.runs == 1
