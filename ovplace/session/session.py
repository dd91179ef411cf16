"""From a configuration to a problem that can be searched: prepared model, devices, groups, measuring process."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.core.measurement import Job
from ovplace.core.partition import Partition
from ovplace.core.problem import Problem
from ovplace.devices.select import Selection, among, references, select
from ovplace.devices.variants import null_alias
from ovplace.errors import BackendError, ModelError, UsageError
from ovplace.graphs.op_graph import BoolArray, FloatArray, OpGraph
from ovplace.measure.isolated_call import isolated_call
from ovplace.measure.process_pool import ProcessPool, WorkerSpec
from ovplace.plugins import registry
from ovplace.session.events import Listener, Progress
from ovplace.store.run_folder import RunFolder


@dataclass
class Session:
    """A run that is set up.

    Attributes:
        config: the effective configuration.
        folder: the run folder.
        graph: the prepared model's operations.
        selection: the devices to choose from, with the note the user must see.
        defaults: physical devices as their plugins run them by default, measured but never chosen.
        nulls: identical aliases of the devices, by device name, for the null control.
        problem: what the placer sees.
        pool: where candidates are measured.
        facts: what the backend says of versions and hardware.
    """

    config: RunConfig
    folder: RunFolder
    graph: OpGraph
    selection: Selection
    defaults: tuple[Device, ...]
    nulls: Mapping[str, Device]
    problem: Problem
    pool: ProcessPool
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices to choose from."""
        return self.selection.devices

    def input_id(self) -> str:
        """Return what tells these inputs from others: their file's hash, or the seed they are drawn from."""
        path = self.config.search.input
        if not path:
            return f"seed {self.config.search.seed}"
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()


def check_settings(config: RunConfig) -> None:
    """Check the names and the settings of all plug-ins, before anything is done.

    Raises:
        UsageError: a plug-in is unknown, or a setting of it is not understood.
    """
    search = config.search
    registry.load("placers", search.placer).config(dict(config.placer))
    registry.load("coarseners", search.coarsener).config(dict(config.coarsener))
    registry.load("backends", search.backend).config(dict(config.backend))
    for feature in _feature_names(config):
        registry.load("features", feature)
    if search.input and not Path(search.input).is_file():
        raise UsageError(f"the inputs '{search.input}' do not exist; check the path")


def choose_devices(config: RunConfig) -> Selection:
    """Return the devices of a run: what `-d` says, or what the machine has, real or simulated.

    Raises:
        UsageError: the choice cannot be read, or does not fit a simulated machine.
        DeviceError: a device is not there.
    """
    backend = registry.load("backends", config.search.backend)
    # A backend that stands for a machine of its own says what that machine has.
    own = backend.factory.own_devices(backend.config(config.backend))
    if own is not None:
        return _simulated_devices(config, *own)
    from ovplace.devices import emulated_gpu
    from ovplace.devices.discover import physical_devices

    return select(
        config.search.device,
        config.devices,
        config.search.emulate_gpu,
        physical_devices(),
        emulated_gpu.why_unavailable(),
    )


def _simulated_devices(config: RunConfig, machine: str, devices: tuple[Device, ...]) -> Selection:
    if config.devices or config.search.emulate_gpu:
        said = "[devices]" if config.devices else "--emulate-gpu"
        raise UsageError(f"{said} is of real devices, and this run is on a simulated machine; leave one of them out")
    return among(config.search.device, machine, devices)


def prepare_model(config: RunConfig, folder: RunFolder) -> OpGraph:
    """Prepare the model into the run folder, unless that is done, and read it.

    What a call that failed at once has left there is of no use: it may be of another model.
    """
    from ovplace.ir.prepare.prepare import prepare
    from ovplace.ir.read import read_graph

    target = folder.prepared_model
    if not (target.exists() and folder.has_begun):
        model = Path(config.search.model)
        isolated_call(f"reading '{model}'", prepare, model, target, config.search.shape)
    return read_graph(target)


def open_session(config: RunConfig, folder: RunFolder, listener: Listener) -> Session:
    """Set a run up in `folder`.

    Raises:
        OvplaceError: the model, a device or the backend does not work; each with its own text.
    """
    listener(Progress("prepare", 0, 3, "reading the model"))
    graph = prepare_model(config, folder)
    selection = choose_devices(config)
    listener(Progress("prepare", 1, 3, selection.note))
    defaults, nulls = references(selection.devices), _null_aliases(selection)
    job = _job(config, folder, (*selection.devices, *defaults, *nulls.values()))
    pool = ProcessPool(WorkerSpec(config.search.backend, job))
    try:
        supported = pool.ask("supported")[:, : len(selection.devices)]
        problem = make_problem(config, graph, selection.devices, supported)
        listener(Progress("prepare", 2, 3, f"{len(graph)} operations in {problem.n_groups} groups"))
        return Session(config, folder, graph, selection, defaults, nulls, problem, pool, dict(pool.facts()))
    except BaseException:
        pool.close()
        raise


def make_problem(config: RunConfig, graph: OpGraph, devices: tuple[Device, ...], supported: BoolArray) -> Problem:
    """Return the problem: legal groups, coarsened as configured, with the configured features."""
    return Problem(
        graph=graph,
        partition=groups(config, graph),
        devices=devices,
        supported=supported,
        features=node_features(graph, _feature_names(config)),
        seed=config.search.seed,
    )


def groups(config: RunConfig, graph: OpGraph) -> Partition:
    """Return the legal groups of `graph`, coarsened as configured.

    Raises:
        ModelError: the model computes nothing.
    """
    from ovplace.ir.legal.groups import legal_groups

    if not len(graph):
        raise ModelError("the model has no operations left after preparing; there is nothing to place")
    coarsener = registry.load("coarseners", config.search.coarsener)
    built = coarsener.factory(coarsener.config(dict(config.coarsener)))
    partition: Partition = built.coarsen(graph, legal_groups(graph))
    return partition


def node_features(graph: OpGraph, names: Sequence[str]) -> FloatArray:
    """Return what the named feature plug-ins say of each operation, side by side, `[N, F]`."""
    parts = [np.empty((len(graph), 0))]
    for name in names:
        feature = registry.load("features", name)
        parts.append(feature.factory(feature.config({})).compute(graph))
    return np.concatenate(parts, axis=1)


def _feature_names(config: RunConfig) -> Sequence[str]:
    """Return the features the user named, else those that the placer wants."""
    placer = registry.load("placers", config.search.placer)
    names: Sequence[str] = config.search.features or placer.features
    return names


def _null_aliases(selection: Selection) -> dict[str, Device]:
    if selection.simulated:
        return {}
    aliases = ((device.name, null_alias(device)) for device in selection.devices)
    return {name: alias for name, alias in aliases if alias is not None}


def _job(config: RunConfig, folder: RunFolder, devices: tuple[Device, ...]) -> Job:
    backend = registry.load("backends", config.search.backend)
    if problem := backend.factory.available():
        raise BackendError(problem)
    return Job(
        model_path=str(folder.prepared_model.resolve()),
        devices=devices,
        input_path=str(Path(config.search.input).resolve()) if config.search.input else "",
        seed=config.search.seed,
        options=dataclasses.asdict(backend.config(dict(config.backend))),
    )
