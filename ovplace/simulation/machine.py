"""A simulated machine: devices, links between them, and the costs of a model on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.integer_labels import sums_by_label
from ovplace.core.partition import Partition
from ovplace.core.traffic import Traffic
from ovplace.errors import DeviceError, PlacementError
from ovplace.graphs.computed_from import computed_from
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph
from ovplace.graphs.work import tensor_bytes, work
from ovplace.simulation.noise import Noise
from ovplace.simulation.roofline import Roofline, fused_edges


@dataclass(frozen=True)
class SimulatedDevice(Roofline):
    """A device of a simulated machine: its speed, see `Roofline`, its name, its overheads and its limits.

    Attributes:
        name: name in placements.
        base: the OpenVINO device that it stands for: `CPU`, `GPU`, `GPU.1`, `NPU`.
        full_name: name of the product.
        submodel_us: overhead of each submodel in µs: a request of its own, its input and output tensors.
        memory_gb: memory for weights and tensors in GB.
        unsupported: operation types that it says it cannot run.
        failing: operation types on which compilation fails although it says it can run them.
        precision: precision that it computes in; a note only.

    Raises:
        ValueError: a number is not possible.
    """

    name: str = ""
    base: str = ""
    full_name: str = ""
    submodel_us: float = 0.0
    memory_gb: float = inf
    unsupported: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    precision: str = "f32"

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        if not self.memory_gb > 0:
            raise ValueError(f"memory_gb must be given and positive, got {self.memory_gb}")
        if not 0 <= self.submodel_us < inf:
            raise ValueError(f"submodel_us must not be negative, got {self.submodel_us}")

    def supports(self, graph: OpGraph) -> BoolArray:
        """Return which operations it says it can run, `[N]`: of any type, if computed from constants alone.

        Plugins fold those before they look for a kernel.
        """
        return self._without(self.unsupported, graph)

    def compiles(self, graph: OpGraph) -> BoolArray:
        """Return which operations compile, `[N]`: fewer than it says."""
        return self._without((*self.unsupported, *self.failing), graph)

    def _without(self, types: Collection[str], graph: OpGraph) -> BoolArray:
        folded = computed_from(graph, ("Constant",))
        return np.array([kind not in types or op in folded for op, kind in enumerate(graph.types)], dtype=bool)


@dataclass(frozen=True)
class Link:
    """The connection from one device to another.

    Attributes:
        latency_us: fixed cost of each tensor in µs.
        gb_per_s: bandwidth in GB/s.
    """

    latency_us: float = 0.0
    gb_per_s: float = inf

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.latency_us < inf or not self.gb_per_s > 0:
            raise ValueError(
                f"latency_us must be finite and not negative, and gb_per_s positive, got {self.latency_us} and "
                f"{self.gb_per_s}"
            )


@dataclass(frozen=True)
class SimulatedMachine:
    """A simulated machine.

    Attributes:
        name: name of the machine.
        devices: in the order of HETERO's priorities.
        links: by (from, to).
        default_link: between all other pairs.
        fusable: producer type to the types that can be fused into it, on every device.
        noise: noise of measurements.
        crash_probability: probability that a measurement ends in a crash.
        calibration: model name to device name to the factor on the time of all its operations there.
        description: the machine it stands for, and the origin of its numbers.
        digest: hash of all of it.
    """

    name: str
    devices: tuple[SimulatedDevice, ...]
    links: Mapping[tuple[str, str], Link] = field(default_factory=dict)
    default_link: Link = field(default_factory=Link)
    fusable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    noise: Noise = field(default_factory=Noise)
    crash_probability: float = 0.0
    calibration: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    description: str = ""
    digest: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the devices, `[D]`."""
        return tuple(device.name for device in self.devices)

    def as_devices(self) -> tuple[Device, ...]:
        """Return the devices as a run sees them; their full names say that they are simulated."""
        return tuple(
            Device(d.name, d.base, facts={"full_name": f"{d.full_name or d.name} (simulated)", "driver": "simulated"})
            for d in self.devices
        )

    def having(self, devices: Sequence[Device]) -> SimulatedMachine:
        """Return the machine with just these devices, in this order, found by their name or else by their base.

        Raises:
            DeviceError: one is not on the machine.
        """
        by_name = {device.base: device for device in self.devices} | {device.name: device for device in self.devices}
        for device in devices:
            if device.name not in by_name and device.base not in by_name:
                raise DeviceError(
                    f"device '{device.name}' is not on the simulated machine '{self.name}', which has "
                    f"{', '.join(self.names)}; name some of these with -d"
                )
        kept = (replace(by_name.get(d.name) or by_name[d.base], name=d.name) for d in devices)
        return replace(self, devices=tuple(kept))

    def factors(self, model: str) -> FloatArray:
        """Return the calibration of the devices for a model, `[D]`; 1 where there is none."""
        known = self.calibration.get(model, {})
        return np.array([known.get(name, 1.0) for name in self.names], dtype=np.float64)

    def supported(self, graph: OpGraph) -> BoolArray:
        """Return which device says it can run which operation, `[N, D]`."""
        return np.stack([device.supports(graph) for device in self.devices], axis=1)

    def table(self, graph: OpGraph, partition: Partition, model: str = "") -> CostTable:
        """Return the costs of the groups of a model on this machine; exact for any partition, fusions included.

        Args:
            graph: the model.
            partition: its groups.
            model: the model's own name, by which it may be calibrated.

        Raises:
            PlacementError: no device can run a group.
        """
        quotient, factors = partition.quotient(graph), self.factors(model)
        group, n = partition.group_of, partition.n_groups
        op_ms, saved_ms, fused = self._times(graph)
        source, target = group[graph.edges[:, fused]]
        inside = source == target
        group_ms = sums_by_label(group, op_ms, n) - sums_by_label(source[inside], saved_ms[inside], n)
        pair = np.searchsorted(quotient.edges[0] * n + quotient.edges[1], (source * n + target)[~inside])
        group_ms = np.maximum(group_ms, 0.0) * factors
        group_ms[~_allowed(self, graph, partition)] = np.inf
        latency, per_byte = self._link_costs()
        return CostTable(
            traffic=Traffic.between(graph, partition),
            edges=quotient.edges,
            group_ms=group_ms,
            saving_ms=sums_by_label(pair, saved_ms[~inside], quotient.edges.shape[1]) * factors,
            latency_ms=latency,
            ms_per_byte=per_byte,
            submodel_ms=np.array([device.submodel_us for device in self.devices]) / 1e3,
            group_bytes=sums_by_label(group, tensor_bytes(graph), n),
            memory_bytes=np.array([device.memory_gb for device in self.devices]) * 1e9,
            source=f"simulated: {self.name}",
        )

    def _times(self, graph: OpGraph) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the time of each operation `[N, D]`, what each fusion saves `[F, D]`, and its edge `[F]`."""
        of = work(graph)
        fused = fused_edges(graph, self.fusable, of)
        readers, inner = graph.edges[1, fused], np.zeros(len(graph))
        inner[readers] = graph.out_bytes[fused]
        alone = np.stack([device.op_ms(graph, of) for device in self.devices], axis=1)
        joined = np.stack([device.fused_ms(graph, of, inner) for device in self.devices], axis=1)
        return alone, (alone - joined)[readers], fused

    def _link_costs(self) -> tuple[FloatArray, FloatArray]:
        links = [[self.links.get((a, b), self.default_link) for b in self.names] for a in self.names]
        latency = np.array([[link.latency_us / 1e3 for link in row] for row in links])
        return latency, np.array([[1e-6 / link.gb_per_s for link in row] for row in links])


def _allowed(machine: SimulatedMachine, graph: OpGraph, partition: Partition) -> BoolArray:
    """Return which group runs on which device, `[G, D]`."""
    allowed = partition.every(machine.supported(graph))
    homeless = np.flatnonzero(~allowed.any(axis=1))
    if len(homeless):
        op = int(partition.members[int(homeless[0])][0])
        raise PlacementError(
            f"no device of the simulated machine '{machine.name}' ({', '.join(machine.names)}) can run the group of "
            f"operation '{graph.names[op]}' ({graph.types[op]}); add a device with -d"
        )
    return allowed
