"""The site where a run measures: this machine, or the machines of a fleet."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ovplace.config.schema import RunConfig
from ovplace.devices.select import Selection, select
from ovplace.errors import BackendError, DeviceError
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.pool import Pool
from ovplace.measuring.process_pool import ProcessPool
from ovplace.session.devices import choose_devices
from ovplace.session.events import Listener, Progress, silent
from ovplace.store.device_lock import for_search
from ovplace.version import __version__

if TYPE_CHECKING:
    from ovplace.fleet.cluster import Cluster
    from ovplace.fleet.machine import DeviceClass, Machine


class Site(Protocol):
    """Where a run measures."""

    @property
    def hardware(self) -> str:
        """Hardware of a fleet's machines, on which the run must be continued; empty on this machine."""

    def choose_devices(self, config: RunConfig) -> Selection:
        """Return the devices of a run; `open_pool` is for these."""

    def open_pool(self, spec: WorkerSpec) -> Pool:
        """Return a pool, which the caller closes."""

    def close(self) -> None:
        """Leave."""


class ThisMachine:
    """Measures here, in child processes; no worker of a fleet may do so meanwhile."""

    def __init__(self) -> None:
        """Use no devices yet."""
        self.hardware = ""
        self._held = ExitStack()

    def choose_devices(self, config: RunConfig) -> Selection:
        """Return the devices of a run.

        Raises:
            OvplaceError: the choice cannot be read, a device is not there, or a worker of a fleet uses them.
        """
        selection = choose_devices(config)
        if not selection.simulated:
            self._held.enter_context(for_search())
        return selection

    def open_pool(self, spec: WorkerSpec) -> Pool:
        """Return a pool of one process, which the caller closes."""
        return ProcessPool(spec)

    def close(self) -> None:
        """Leave the devices to others."""
        self._held.close()


@dataclass(frozen=True)
class _Choice:
    selection: Selection
    device_class: DeviceClass
    machine: Machine


class Fleet:
    """Measures on the machines of a fleet that are alike as far as the devices of the run go."""

    def __init__(self, cluster: Cluster, began_on: str = "", listener: Listener = silent) -> None:
        """Choose no machines yet.

        Args:
            cluster: the fleet.
            began_on: `hardware` of the run that is continued; empty for a new one.
            listener: is called where the run has to wait for machines that train.
        """
        self._cluster, self._began_on, self._listener = cluster, began_on, listener
        self._class: DeviceClass | None = None

    @property
    def hardware(self) -> str:
        """The devices of the machines that are chosen, in words; empty for simulated ones."""
        assert self._class is not None, "devices are chosen first"
        return _in_words(self._class)

    def choose_devices(self, config: RunConfig) -> Selection:
        """Return the devices of a run: those of the class that has the most machines now, or that the run began on.

        Raises:
            OvplaceError: the choice cannot be read, or no machine has the devices.
        """
        from ovplace.fleet.machine import simulated_class

        machines = self._cluster.wait_for(simulated_class().has)
        if not machines:
            others = [f"{m.name} ({m.versions.get('ovplace', '')})" for m in self._cluster.machines()]
            there = f"only those of other versions: {', '.join(others)}" if others else "none at all"
            raise BackendError(
                f"no machine with ovplace {__version__} works for '{self._cluster.address}' ({there}); start "
                f"'ovplace worker --scheduler {self._cluster.address}' on one"
            )
        backend = config.plugins.backend
        if backend.own_devices() is not None:
            self._class, selection = simulated_class(), choose_devices(config)
        else:
            chosen = _most_frequent(config, machines, self._began_on)
            self._class, selection = chosen.device_class, chosen.selection
        note = _note(self._cluster.machines(), self._class)
        return replace(selection, note="; ".join(filter(None, (selection.note, note))))

    def open_pool(self, spec: WorkerSpec) -> Pool:
        """Return a pool of the machines, which the caller closes."""
        from ovplace.fleet.pool import FleetPool

        assert self._class is not None, "devices are chosen first"
        return FleetPool(self._cluster, self._class, spec, self._tell_all_train)

    def close(self) -> None:
        """Leave the fleet."""
        self._cluster.close()

    def _tell_all_train(self, machines: list[str]) -> None:
        text = f"waits for the end of a training on {_named(machines)}"
        self._listener(Progress("free machines", 0, len(machines), text))


def open_site(config: RunConfig, began_on: str = "", listener: Listener = silent) -> Site:
    """Return where a run measures.

    Args:
        config: the run's configuration.
        began_on: `Site.hardware` of the run that is continued; empty for a new one.
        listener: is called where the run has to wait.

    Raises:
        OvplaceError: the scheduler of the fleet is not there, or refuses.
    """
    if not config.search.cluster:
        return ThisMachine()
    try:
        import distributed  # noqa: F401 - an extra
    except ImportError:
        raise BackendError("a fleet needs Dask's distributed; pip install 'ovplace[cluster]'") from None
    from ovplace.fleet.certificates import Certificates, default_folder
    from ovplace.fleet.cluster import Cluster

    title = f"{Path(config.search.model).name} with {config.search.placer}"
    return Fleet(Cluster(config.search.cluster, Certificates(default_folder()), title), began_on, listener)


def _most_frequent(config: RunConfig, machines: list[Machine], began_on: str) -> _Choice:
    """Return the choice of devices that the most machines share, of those that the run began on if it is continued.

    Raises:
        DeviceError: no machine has the devices.
    """
    choices, problems = list[_Choice](), list[str]()
    for machine in machines:
        try:
            choices.append(_choice(config, machine))
        except DeviceError as error:
            problems.append(f"{machine.name}: {error}")
    if not choices:
        raise DeviceError(f"no machine of the fleet has the devices of the run; {'; '.join(problems)}")
    alike = [choice for choice in choices if began_on in ("", _in_words(choice.device_class))]
    if not alike:
        raise DeviceError(
            f"this run began on machines with {began_on}, and there are only others ({choices[0].machine.name}: "
            f"{_in_words(choices[0].device_class)}); start 'ovplace worker' on one of these, or choose another folder "
            "with -o"
        )
    counts = Counter(str(choice.device_class) for choice in alike)
    return max(alike, key=lambda choice: counts[str(choice.device_class)])


def _choice(config: RunConfig, machine: Machine) -> _Choice:
    from ovplace.fleet.machine import class_of

    search = config.search
    selection = select(search.device, config.devices, search.emulate_gpu, machine.devices, machine.emulation_problem)
    return _Choice(selection, class_of(machine, selection), machine)


def _in_words(device_class: DeviceClass) -> str:
    """Return the devices of a class, each with all in which like devices agree."""
    return ", ".join(" ".join(filter(None, (base, *facts))) for base, _, *facts in device_class.devices)


def _note(machines: list[Machine], chosen: DeviceClass) -> str:
    used = [machine.name for machine in machines if chosen.has(machine)]
    others = [f"{machine.name}{_versions(machine, chosen)}" for machine in machines if not chosen.has(machine)]
    left_out = f", not on machines of another kind: {', '.join(others)}" if others else ""
    return f"measured on {_named(used)}{left_out}"


def _versions(machine: Machine, chosen: DeviceClass) -> str:
    """Return the versions of a machine that differ from those of the chosen ones, in brackets."""
    differing = [f"{of} {own}" for of, own in machine.versions.items() if chosen.versions.get(of, own) != own]
    return f" ({', '.join(differing)})" if differing else ""


def _named(machines: list[str]) -> str:
    more = f" and {len(machines) - 8} more" if len(machines) > 8 else ""
    return f"{', '.join(machines[:8])}{more}"
