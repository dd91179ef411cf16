"""`ovplace cluster` makes certificates and lists machines, and does not call a fleet empty whose scheduler is gone."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from ovplace.cli import group
from ovplace.cli.output.console import Console
from ovplace.core.device import Device
from ovplace.errors import BackendError
from ovplace.fleet.certificates import Certificates, Role
from ovplace.fleet.channel import open_channel, open_listener
from ovplace.fleet.cluster import Cluster
from ovplace.fleet.files import FileStore
from ovplace.fleet.machine import Machine
from ovplace.fleet.worker import Worker
from tests.fleet.test_limits import Runner, fleet


def run(*arguments):
    done = CliRunner().invoke(group, ["cluster", *map(str, arguments)], obj=Console())
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize("name", ["certs", "a-folder-" * 9, "Zertifikate für größere Flotten " * 3])
def test_certificates_are_made_in_any_folder_and_their_files_are_told(tmp_path, name):
    made = Certificates(tmp_path / name)
    files = [made.authority, made.authority_key, *map(made.of, Role)]
    assert run("certs", "-o", made.folder).output.splitlines() == list(map(str, files))
    for role in Role:
        made.check(role)


def test_the_machines_of_a_fleet_are_listed(certificates, monkeypatch, tmp_path):
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    cpu = Device("CPU", "CPU", facts={"full_name": "a processor"})
    machine = Machine("box", (cpu,), versions={"ovplace": "0.9", "openvino": "2026.4"})

    async def ask():
        async with fleet(certificates, tmp_path) as (cluster, _):
            said = [(await asyncio.to_thread(run, "machines", cluster.address)).stderr]
            worker = Worker(machine, Runner(), FileStore(tmp_path))
            working = asyncio.create_task(worker.work(await open_channel(cluster.address, certificates, Role.WORKER)))
            await asyncio.to_thread(cluster.wait_for, lambda found: found.name == "box")
            for options in ((), ("--json",)):
                said.append((await asyncio.to_thread(run, "machines", cluster.address, *options)).stdout)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            return cluster.address, said

    address, (none, table, as_json) = asyncio.run(ask())
    assert none == f"no machines yet; start 'ovplace worker --scheduler {address}' on one\n"
    assert table.splitlines()[-1].split() == ["box", "CPU", "a", "processor", "0.9", "2026.4"]
    assert [Machine.from_dict(found) for found in json.loads(as_json)] == [machine]


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "is gone; start it again, the same command continues"),
        ([{"op": "machines", "machines": [{"name": "box"}]}], r"sent what this version does not understand: KeyError"),
    ],
)
def test_a_scheduler_that_is_gone_or_of_another_version_is_not_called_one_without_machines(messages, why, certificates):
    async def connect():
        async def send(channel):
            for message in messages:
                await channel.send(message)
            await channel.close()

        listener = await open_listener("tls://127.0.0.1:0", certificates, send)
        with pytest.raises(BackendError, match=f"the scheduler at '{listener.contact_address}' {why}"):
            await asyncio.to_thread(Cluster, listener.contact_address, certificates)
        listener.stop()

    asyncio.run(connect())


def test_who_waits_for_a_machine_hears_that_the_scheduler_is_gone(certificates):
    async def wait():
        waiting = asyncio.Event()

        async def send(channel):
            await channel.send({"op": "machines", "machines": []})
            await waiting.wait()
            await channel.close()

        listener = await open_listener("tls://127.0.0.1:0", certificates, send)
        cluster = await asyncio.to_thread(Cluster, listener.contact_address, certificates)
        found = asyncio.create_task(asyncio.to_thread(cluster.wait_for, lambda _: True))
        await asyncio.sleep(0)
        waiting.set()
        with pytest.raises(BackendError, match="is gone; start it again"):
            await found
        await asyncio.to_thread(cluster.close)
        listener.stop()

    asyncio.run(wait())
