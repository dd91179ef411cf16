"""Which boxes a search takes, those of a run that is continued, and that a worker and a search exclude each other."""

import asyncio
from dataclasses import replace

import pytest

from ovplace.api.model_file import find_model
from ovplace.commands.dry_run import estimate
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.device import Device
from ovplace.errors import BackendError, DeviceError, InUseError
from ovplace.fleet.certificates import Role
from ovplace.fleet.channel import open_channel
from ovplace.fleet.files import FileStore
from ovplace.fleet.machine import Machine
from ovplace.fleet.worker import Worker
from ovplace.session.site import Fleet, ThisMachine
from ovplace.store.device_lock import for_worker
from ovplace.version import __version__
from tests.fleet.test_limits import Runner, fleet

CONFIG = resolved(RunConfig(search=SearchConfig(model="demo", device="CPU")))


class Boxes:
    """Stands for a cluster."""

    address = "tls://here:1"

    def __init__(self, **cpus):
        versions = {"ovplace": __version__, "openvino": "2026.4"}
        self.all = [
            Machine(name, (Device("CPU", "CPU", facts={"full_name": cpu}),), versions=versions)
            for name, cpu in cpus.items()
        ]

    def wait_for(self, suits):
        return list(filter(suits, self.all))

    def machines(self):
        return self.all


def chosen(began_on="", **cpus):
    site = Fleet(Boxes(**cpus), began_on)
    return site.choose_devices(CONFIG).note, site.hardware


def test_the_most_frequent_kind_is_taken_and_a_run_goes_on_with_its_own():
    note, hardware = chosen(a="Xeon", b="Atom", c="Atom")
    assert "measured on b, c, not on machines of another kind: a" in note
    assert hardware == "CPU Atom"
    note, hardware = chosen("CPU Xeon", a="Xeon", b="Atom", c="Atom")
    assert "measured on a, not on machines of another kind: b, c" in note
    assert hardware == "CPU Xeon"
    with pytest.raises(DeviceError, match=r"began on machines with CPU Xeon, .* only others \(b: CPU Atom\)"):
        chosen("CPU Xeon", b="Atom")


def test_machines_of_other_versions_are_left_out_by_name():
    boxes = Boxes(a="Atom", b="Atom", c="Atom", d="Atom")
    for position, name in ((2, "ovplace"), (3, "openvino")):
        machine = boxes.all[position]
        boxes.all[position] = replace(machine, versions={**machine.versions, name: "9"})
    note = Fleet(boxes).choose_devices(CONFIG).note
    assert note.endswith("measured on a, b, not on machines of another kind: c (ovplace 9), d (openvino 9)")


def test_without_a_machine_of_this_version_it_is_said_what_to_start():
    advice = "start 'ovplace worker --scheduler tls://here:1' on one"
    with pytest.raises(BackendError, match=rf"no machine with ovplace .* \(none at all\); {advice}"):
        Fleet(Boxes()).choose_devices(CONFIG)
    boxes = Boxes(old="Atom")
    boxes.all = [replace(boxes.all[0], versions={"ovplace": "0.0.1"})]
    with pytest.raises(BackendError, match=rf"\(only those of other versions: old \(0\.0\.1\)\); {advice}"):
        Fleet(boxes).choose_devices(CONFIG)


@pytest.mark.usefixtures("impatient")
def test_a_worker_and_a_search_exclude_each_other(monkeypatch, tmp_path):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path))
    first, second = ThisMachine(), ThisMachine()
    for site in (first, second):
        site.choose_devices(CONFIG)
    with (
        pytest.raises(InUseError, match=r"another process; .* a search on this machine has to end first"),
        for_worker(),
    ):
        pass
    first.close()
    with pytest.raises(InUseError, match="has to end first"), for_worker():
        pass
    second.close()
    with for_worker(), pytest.raises(InUseError, match=r"measure for a fleet, by process .*; search with --cluster"):
        ThisMachine().choose_devices(CONFIG)


def test_a_simulated_search_excludes_nobody(monkeypatch, tmp_path):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path))
    simulated = resolved(
        RunConfig(
            search=SearchConfig(model="demo", backend="simulate"),
            backend={"machine": "i9-12900k+flex170"},
        )
    )
    with for_worker():
        ThisMachine().choose_devices(simulated)


def test_a_dry_run_asks_the_fleet_for_its_devices(certificates, monkeypatch, tmp_path):
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    versions = {"ovplace": __version__, "openvino": "2026.4"}
    machine = Machine("box", (Device("CPU", "CPU"), Device("NPU", "NPU")), versions=versions)
    search = SearchConfig(model=str(find_model("demo")), device="CPU,NPU")

    async def ask():
        async with fleet(certificates, tmp_path) as (cluster, _):
            channel = await open_channel(cluster.address, certificates, Role.WORKER)
            working = asyncio.create_task(Worker(machine, Runner(), FileStore(tmp_path)).work(channel))
            config = resolved(RunConfig(search=replace(search, cluster=cluster.address)))
            found = await asyncio.to_thread(estimate, config)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            return found

    found = asyncio.run(ask())
    assert found.devices == ("CPU", "NPU")
    assert found.note.endswith("measured on box")
