"""A run that is set up: prepared model, devices, problem and measuring processes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import numpy as np

from ovplace.config.files import reachable
from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.core.measurement import Job
from ovplace.core.partition import Partition
from ovplace.core.problem import Problem
from ovplace.core.result.labels import marked
from ovplace.core.text.plural import plural
from ovplace.devices.select import Selection, references
from ovplace.errors import BackendError, DeviceError, StoreError, UsageError
from ovplace.graphs.op_graph import BoolArray, OpGraph
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.pool import Pool
from ovplace.session.devices import null_aliases
from ovplace.session.events import Listener, Progress
from ovplace.session.fingerprint import file_hash
from ovplace.session.prepare import prepare_model
from ovplace.session.problem import form_groups, make_problem
from ovplace.session.site import Site, ThisMachine, open_site
from ovplace.store.run_folder import RunFolder

LEAST_START_S = 60.0
"""Every measuring process may take so long to start: without one, a call cannot even tell what earlier ones found."""


@dataclass
class Session:
    """A run that is set up.

    Attributes:
        config: the effective configuration.
        folder: the run folder.
        graph: the prepared model's operations.
        selection: the devices to choose from, with a note on the choice for the user.
        defaults: physical devices as their plugins run them by default, measured but never chosen.
        nulls: identical aliases of the devices, by device name, for the null control.
        problem: what the placer sees.
        pool: where candidates are measured.
        facts: the backend's facts on versions and hardware, by name.
        starting_s: what starting the measuring process took, in seconds.
        site: where further pools are opened.
    """

    config: RunConfig
    folder: RunFolder
    graph: OpGraph
    selection: Selection
    defaults: tuple[Device, ...]
    nulls: Mapping[str, Device]
    problem: Problem
    pool: Pool
    facts: dict[str, str] = field(default_factory=dict)
    starting_s: float = 0.0
    site: Site = field(default_factory=ThisMachine)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices to choose from."""
        return self.selection.devices

    def shown(self, name: str) -> str:
        """Return a name in which devices that are emulated or simulated are marked."""
        emulated = {device.name: device.emulated for device in self.devices}
        return marked(name, emulated, bool(self.selection.simulated))

    def start_afresh(self) -> None:
        """Replace the measuring process by a fresh one, where that makes a difference to the backend.

        Raises:
            BackendError: the process does not come up.
        """
        if self.config.plugins.backend.factory.varies_by_process:
            self.pool.renew()

    def close(self) -> None:
        """End the measuring processes, and leave the fleet if there is one."""
        self.pool.close()
        self.site.close()

    @property
    def runs_stages(self) -> bool:
        """Whether the search runs its placements in stages."""
        return self.config.search.stages and self.config.plugins.backend.factory.runs_stages

    @property
    def input_id(self) -> str:
        """Identity of the inputs: the hash of their file, or the seed that they are drawn from.

        Raises:
            UsageError: the file is no longer there.
        """
        if not self.config.search.input:
            return f"seed {self.config.search.seed}"
        path = Path(self.config.search.input).absolute()
        try:
            return file_hash(path)
        except OSError as error:
            raise UsageError(f"cannot read the inputs '{path}': {error.strerror}; put them back, and go on") from error


def check_settings(config: RunConfig) -> None:
    """Check the names and the settings of all plug-ins, and the inputs' file, before anything is done.

    Raises:
        UsageError: a plug-in is unknown, a setting of it is not understood, or the inputs are not there.
    """
    _ = config.plugins  # which raises what is wrong with them
    inputs = config.search.input
    if inputs and reachable(Path(inputs), "the inputs").is_dir():
        raise UsageError(f"the inputs '{inputs}' are a folder; name an .npz file with one array for each input with -i")
    if inputs and not Path(inputs).is_file():
        raise UsageError(f"the inputs '{inputs}' do not exist; check the path, or name another file with -i")
    if inputs and Path(inputs).suffix == ".npy":
        raise UsageError(
            f"the inputs '{inputs}' have no names; give an .npz with one array for each input: "
            f"np.savez('inputs.npz', NAME=np.load('{inputs}'))"
        )


@dataclass(frozen=True)
class Begun:
    """The facts that are kept of a run to be continued.

    Attributes:
        hardware: `Site.hardware` of the machines that it began on.
        groups: its groups; None for a run of an earlier version, which formed them as if one device supported all.
        devices: its devices, as `devices_in_words` returned them; None for a run of an earlier version.
        model: content hash of its prepared model; empty for a run of an earlier version.
    """

    hardware: str = ""
    groups: Partition | None = None
    devices: object = None
    model: str = ""

    def check_devices(self, devices: Sequence[Device], folder: RunFolder) -> None:
        """Check that the run is continued with the devices that it began with.

        Args:
            devices: chosen now.
            folder: the run's folder.

        Raises:
            DeviceError: they are others, or their hardware is.
        """
        began, now = self.devices, devices_in_words(devices)
        if isinstance(began, list) and began != now:
            raise DeviceError(
                f"the run in '{folder}' began with {', '.join(map(str, began))}, and the devices are now "
                f"{', '.join(now)}; choose another folder with -o, or delete it"
            )


def devices_in_words(devices: Sequence[Device]) -> list[str]:
    """Return what each device is called, and its hardware."""
    return [f"{device.label} ({device.facts.get('full_name', device.base)})" for device in devices]


def open_session(config: RunConfig, folder: RunFolder, listener: Listener, begun: Begun | None = None) -> Session:
    """Set a run up.

    Args:
        config: the effective configuration.
        folder: the run folder.
        listener: is called with each step.
        begun: the run that is continued; None for a new one, and for one that is only read.

    Returns:
        The session, which the caller closes.

    Raises:
        OvplaceError: the model, a device or the backend does not work; each with its own text.
    """
    listener(Progress("prepare", 0, 3, "reading the model"))
    site = open_site(config, begun.hardware if begun else "", listener)
    try:
        return _open_at(site, config, folder, listener, begun)
    except BaseException:
        site.close()
        raise


def _open_at(site: Site, config: RunConfig, folder: RunFolder, listener: Listener, begun: Begun | None) -> Session:
    selection = site.choose_devices(config)
    if begun:
        begun.check_devices(selection.devices, folder)
    listener(Progress("prepare", 1, 3, selection.note))
    defaults, nulls = references(selection.devices), null_aliases(selection)
    job = _job(config, folder, (*selection.devices, *defaults, *nulls.values()))
    pool = site.open_pool(WorkerSpec(config.search.backend, job, start_s=_start_s(config.search.time_s)))
    try:
        pool.preload()
        graph = prepare_model(config, folder, begun.model if begun else None)
        listener(Progress("start", 0, 1, "starting the measuring process"))
        start = time.monotonic()
        pool.start()
        starting_s = time.monotonic() - start
        supported = _supported(pool, config, graph, job)[:, : len(selection.devices)]
        groups = _groups_of(begun, config, graph) if begun else None
        problem = make_problem(config, graph, selection.devices, supported, groups)
        listener(Progress("prepare", 2, 3, f"{len(graph)} operations in {plural(problem.n_groups, 'group')}"))
        facts = dict(pool.facts())
        return Session(config, folder, graph, selection, defaults, nulls, problem, pool, facts, starting_s, site)
    except BaseException:
        pool.close()
        raise


def _supported(pool: Pool, config: RunConfig, graph: OpGraph, job: Job) -> BoolArray:
    """Return which device of a job supports which operation, `[N, D]`.

    Raises:
        BackendError: the backend returned something else.
    """
    found, shape = pool.ask("supported"), (len(graph), len(job.devices))
    if not isinstance(found, np.ndarray) or found.shape != shape:
        got = f"one of {list(found.shape)}" if isinstance(found, np.ndarray) else type(found).__name__
        raise BackendError(
            f"the backend '{config.search.backend}' must return an array of operations and devices, {list(shape)}, "
            f"from supported(), got {got}; correct it"
        )
    return found


def _start_s(time_s: float) -> float:
    """Return how long the measuring process may take to start in a call that is limited to `time_s`; 0: unlimited."""
    return max(LEAST_START_S, time_s) if time_s else inf


def _groups_of(begun: Begun, config: RunConfig, graph: OpGraph) -> Partition:
    """Return the groups of a run that has begun.

    Raises:
        StoreError: those that it has kept are not of its model.
    """
    groups = begun.groups or form_groups(config, graph)
    if len(groups.group_of) != len(graph):
        raise StoreError(
            f"the groups in the run folder are damaged: expected one for each of {len(graph)} operations, got "
            f"{len(groups.group_of)}; start anew in another folder with -o"
        )
    return groups


def _job(config: RunConfig, folder: RunFolder, devices: tuple[Device, ...]) -> Job:
    backend = config.plugins.backend
    if problem := backend.problem():
        raise BackendError(problem)
    return Job(
        model_path=str(folder.prepared_model.resolve()),
        devices=devices,
        input_path=str(Path(config.search.input).resolve()) if config.search.input else "",
        seed=config.search.seed,
        options=backend.options,
    )
