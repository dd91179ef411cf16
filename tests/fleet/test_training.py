"""Trainings on a fleet: on boxes that are lost or cannot train, and searches that wait for their end."""

import asyncio
import json
import signal
import subprocess
import time
from contextlib import asynccontextmanager

import pytest

from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.measurement import Job
from ovplace.errors import UsageError
from ovplace.fleet.certificates import Role
from ovplace.fleet.channel import open_channel
from ovplace.fleet.files import FileStore
from ovplace.fleet.machine import Machine
from ovplace.fleet.wire import TRAIN
from ovplace.fleet.worker import Worker
from ovplace.measuring.children import WorkerSpec
from ovplace.session.site import Fleet
from ovplace.train.training_plan import read_plan
from ovplace.train.training_sites import TrainsOnFleet
from ovplace.train.worker_training import WorkerTraining
from ovplace.version import __version__
from tests.fleet.processes import PROGRAM, running_fleet
from tests.fleet.test_limits import Runner, asked, fleet
from tests.train.test_seeds import SMALL


class WithoutTorch(Runner):
    """Stands for a box that lacks what a training needs."""

    async def run(self, job, method, arguments):
        raise UsageError("the placer 'hsdag' needs torch; pip install 'ovplace[learned]'")


class Trains(Runner):
    async def run(self, job, method, arguments):
        return await asyncio.to_thread(WorkerTraining().run, *arguments)


class TrainsForLong(Runner):
    """Trains until told to end, and answers anything else at once."""

    def __init__(self):
        super().__init__()
        self.over = asyncio.Event()

    async def run(self, job, method, arguments):
        if method != TRAIN:
            return await super().run(job, method, arguments)
        await self.over.wait()
        return {"policy": b"", "report": ""}


@asynccontextmanager
async def boxes(certificates, folder, **runners):
    """Run a fleet of these boxes, which join in this order; yield the cluster."""
    tasks = []
    async with fleet(certificates, folder) as (cluster, _):
        for name, runner in runners.items():
            worker = Worker(Machine(name, versions={"ovplace": __version__}), runner, FileStore(folder / name))
            channel = await open_channel(cluster.address, certificates, Role.WORKER)
            tasks.append(asyncio.create_task(worker.work(channel)))
            await asyncio.to_thread(cluster.wait_for, lambda machine, name=name: machine.name == name)
        try:
            yield cluster
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return read_plan(path)


@pytest.mark.slow
def test_a_box_that_cannot_train_is_set_aside_and_another_trains(certificates, tmp_path, plan):
    async def train():
        async with boxes(certificates, tmp_path, bare=WithoutTorch(), able=Trains()) as cluster:
            site = TrainsOnFleet(cluster, 1)
            report = await asyncio.to_thread(site.train, plan, tmp_path / "policy.npz")
            assert report["updates"] == 3
            assert list(site.aside) == ["bare"]
            assert "needs torch" in site.aside["bare"]

    asyncio.run(train())


def test_where_no_box_can_train_the_last_one_says_why(certificates, tmp_path, plan):
    async def train():
        async with boxes(certificates, tmp_path, a=WithoutTorch(), b=WithoutTorch()) as cluster:
            with pytest.raises(UsageError, match=r"needs torch; pip install .* \(on machine 'b'\)"):
                await asyncio.to_thread(TrainsOnFleet(cluster, 1).train, plan, tmp_path / "policy.npz")

    asyncio.run(train())


def test_a_search_whose_boxes_all_train_says_so_and_goes_on_when_one_is_free(certificates, tmp_path):
    for name in ("model.xml", "model.bin"):
        (tmp_path / name).write_text(name)
    config = resolved(RunConfig(search=SearchConfig(model="demo", backend="simulate")))
    spec, told = WorkerSpec("simulate", Job(str(tmp_path / "model.xml"), ())), []

    async def wait():
        runner = TrainsForLong()
        async with boxes(certificates, tmp_path, box=runner) as cluster:
            training = asyncio.create_task(asked(cluster, TRAIN, ("text",)))
            site = Fleet(cluster, listener=told.append)
            await asyncio.to_thread(site.choose_devices, config)
            facts = asyncio.create_task(asyncio.to_thread(site.open_pool(spec).facts))
            async with asyncio.timeout(60):
                while not told:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(1.0)
            assert not facts.done()
            runner.over.set()
            assert await facts == {"fact": ""}
            await training

    asyncio.run(wait())
    (event,) = told
    assert (event.phase, event.done, event.total) == ("free machines", 0, 1)
    assert event.text == "waits for the end of a training on box"


@pytest.mark.slow
def test_a_fleet_trains_what_this_machine_trains_though_a_worker_is_lost(certificates, tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    config = tmp_path / "small.toml"
    config.write_text(SMALL)
    command = [*PROGRAM, "train", str(config), "--seeds", "2", "--set", "train.updates=60", "--json"]
    with running_fleet(tmp_path, certificates, "killed", "stays") as fleet:
        there = subprocess.Popen(
            [*command, "-o", str(tmp_path / "there.npz"), "--cluster", fleet.address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while "killed" not in fleet.cluster.training:
            assert there.poll() is None
            time.sleep(0.1)
        time.sleep(2.0)  # in the middle of it; where it begins will do
        fleet.send("killed", signal.SIGKILL)
        answer, said = there.communicate(timeout=300)
        assert there.returncode == 0, said
    here = subprocess.run([*command, "-o", str(tmp_path / "here.npz")], capture_output=True, text=True, check=True)
    assert [json.loads(answer)[key] for key in ("seed", "seeds")] == [
        json.loads(here.stdout)[key] for key in ("seed", "seeds")
    ]
    assert (tmp_path / "there.npz").read_bytes() == (tmp_path / "here.npz").read_bytes()
