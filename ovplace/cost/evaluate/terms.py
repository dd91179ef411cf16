"""The terms of the cost model: a placement costs their sum.

A further term takes a subclass of `CostTerm` in `TERMS` here, its parameters as arrays of `CostTable`, and their values
in `SimulatedMachine.table`. Latency, design matrix, prior, fit and restriction to a part of a model follow from the
first two. Exact solvers know the four basic terms: a further one folds itself into them, or they leave it out and say
so in their certificates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.stages import Stages
from ovplace.cost.evaluate.submodels.counts import submodel_counts
from ovplace.graphs.op_graph import FloatArray, IntArray

Counts = NDArray[Any]


class CostTerm(ABC):
    """An additive part of the cost of a placement, linear in some arrays of the cost table.

    Attributes:
        label: the term in words, for certificates of solvers that leave it out.
        parameters: names of its arrays in `CostTable`.
        basic: whether exact solvers know it. Others are folded, see `fold`.
        pairwise: whether the pairwise model has it: it depends on single groups and pairs of groups only.
    """

    label: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]
    basic: ClassVar[bool] = False
    pairwise: ClassVar[bool] = True

    @abstractmethod
    def counts(self, table: CostTable, device_of: IntArray) -> Mapping[str, Counts]:
        """Return how often each entry of each array counts in placements; negative for savings.

        Args:
            table: the costs of G groups on D devices.
            device_of: device of each group under each placement, `[B, G]`.

        Returns:
            Counts by name of the array, `[B, *shape of the array]` each.
        """

    def stage_counts(self, table: CostTable, device_of: IntArray, stages: Stages) -> Mapping[str, Counts]:
        """Return how often each entry of each array counts in each stage of a placement: over all, as in `counts`.

        Here all stages have the same part of it, for terms that do not know better.

        Args:
            table: the costs of G groups on D devices.
            device_of: device of each group, `[G]`.
            stages: stages of the placement.

        Returns:
            Counts by name of the array, `[S, *shape of the array]` each.
        """
        n = len(stages.n_submodels)
        return {name: np.repeat(of / n, n, axis=0) for name, of in self.counts(table, device_of[None]).items()}

    def latency_ms(self, table: CostTable, device_of: IntArray) -> FloatArray:
        """Return the cost of the term in placements, ms `[B]`; faster code than the counts may replace it.

        Args:
            table: the costs of G groups on D devices.
            device_of: device of each group under each placement, `[B, G]`.
        """
        total = np.zeros(len(device_of))
        for name, counts in self.counts(table, device_of).items():
            array = getattr(table, name)
            total += np.tensordot(counts, array, axes=array.ndim)
        return total

    def least_change_ms(self, table: CostTable, small_ms: float) -> Mapping[str, FloatArray | float]:
        """Return the least change of each array that a fit takes for large, however small the number is.

        Args:
            table: the costs.
            small_ms: a small part of a typical group's time, which suits times per group or submodel.

        Returns:
            Changes by name of the array, of a shape that broadcasts to the array's; `small_ms` for those left out.
        """
        return {}

    def fold(self, table: CostTable) -> CostTable | None:
        """Return a table whose basic terms cost more by this term; None if they cannot, and solvers leave it out."""
        return None


class GroupTimes(CostTerm):
    """The time of each group on its device; infinite where it cannot run."""

    label = "times of groups"
    parameters = ("group_ms",)
    basic = True

    def counts(self, table: CostTable, device_of: IntArray) -> Mapping[str, Counts]:
        """Return 1 for each group on its device, `[B, G, D]`."""
        return {"group_ms": device_of[:, :, None] == np.arange(table.n_devices)}

    def stage_counts(self, table: CostTable, device_of: IntArray, stages: Stages) -> Mapping[str, Counts]:
        """Return 1 for each group on its device in its stage, `[S, G, D]`."""
        counts = np.zeros((len(stages.n_submodels), table.n_groups, table.n_devices))
        counts[stages.stage_of, np.arange(table.n_groups), device_of] = 1.0
        return {"group_ms": counts}

    def latency_ms(self, table: CostTable, device_of: IntArray) -> FloatArray:
        """Return the time of all groups, ms `[B]`."""
        return np.asarray(table.group_ms[np.arange(table.n_groups), device_of].sum(axis=1))


class Transfers(CostTerm):
    """The transfers of tensors: once to each other device, however many groups read the tensor there."""

    label = "transfers"
    parameters = ("latency_ms", "ms_per_byte")
    basic = True

    def counts(self, table: CostTable, device_of: IntArray) -> Mapping[str, Counts]:
        """Return the tensors, and the bytes, that pass from each device to each other one, `[B, D, D]` each."""
        traffic, d = table.traffic, table.n_devices
        count, n_bytes = np.zeros((2, len(device_of), d, d))
        if len(traffic.source):
            home, readers = device_of[:, traffic.source], device_of[:, traffic.readers]
            for target in range(d):
                wanted = np.logical_or.reduceat(readers == target, traffic.starts, axis=1)
                for source in range(d):
                    crossing = wanted & (home == source)
                    count[:, source, target] = crossing.sum(axis=1)
                    n_bytes[:, source, target] = crossing @ traffic.n_bytes
        return {"latency_ms": count, "ms_per_byte": n_bytes}

    def stage_counts(self, table: CostTable, device_of: IntArray, stages: Stages) -> Mapping[str, Counts]:
        """Return the tensors, and the bytes, whose transfer a stage pays, `[S, D, D]` each.

        Of several stages that read a tensor on one device, the first pays.
        """
        traffic, d = table.traffic, table.n_devices
        count, n_bytes = np.zeros((2, len(stages.n_submodels), d, d))
        tensor, target = traffic.tensor_of, device_of[traffic.readers]
        order = np.lexsort((stages.stage_of[traffic.readers], target, tensor))
        _, first = np.unique(tensor[order] * d + target[order], return_index=True)
        for at in order[first].tolist():
            source, reader = traffic.source[tensor[at]], traffic.readers[at]
            pair = device_of[source], device_of[reader]
            if pair[0] != pair[1]:
                share = stages.reader_share[pair]
                for group, part in ((reader, share), (source, 1 - share)):
                    count[stages.stage_of[group], *pair] += part
                    n_bytes[stages.stage_of[group], *pair] += part * traffic.n_bytes[tensor[at]]
        return {"latency_ms": count, "ms_per_byte": n_bytes}

    def latency_ms(self, table: CostTable, device_of: IntArray) -> FloatArray:
        """Return the time of all transfers, ms `[B]`."""
        traffic = table.traffic
        total = np.zeros(len(device_of))
        if not len(traffic.source):
            return total
        home, readers = device_of[:, traffic.source], device_of[:, traffic.readers]
        cost, tensor = table.transfer_ms(), np.arange(len(traffic.source))
        for device in range(table.n_devices):
            wanted = np.logical_or.reduceat(readers == device, traffic.starts, axis=1)
            total += np.where(wanted, cost[tensor, home, device], 0.0).sum(axis=1)
        return total

    def least_change_ms(self, table: CostTable, small_ms: float) -> Mapping[str, FloatArray | float]:
        """Return what makes the transfer of a tensor of mean size change by `small_ms`."""
        n_bytes = float(table.traffic.n_bytes.mean()) if len(table.traffic.n_bytes) else 1.0
        return {"ms_per_byte": small_ms / max(n_bytes, 1.0)}


class Savings(CostTerm):
    """The time that neighbours on the same device save, such as by fusion."""

    label = "savings of neighbours"
    parameters = ("saving_ms",)
    basic = True

    def counts(self, table: CostTable, device_of: IntArray) -> Mapping[str, Counts]:
        """Return -1 for each edge with both ends on the device, `[B, Q, D]`."""
        devices = np.arange(table.n_devices)
        source, target = device_of[:, table.edges[0], None], device_of[:, table.edges[1], None]
        return {"saving_ms": -1.0 * ((source == devices) & (target == devices))}

    def stage_counts(self, table: CostTable, device_of: IntArray, stages: Stages) -> Mapping[str, Counts]:
        """Return -1 for each edge with both ends on the device, in the later one's stage, `[S, Q, D]`."""
        counts = np.zeros((len(stages.n_submodels), table.edges.shape[1], table.n_devices))
        joined = np.flatnonzero(device_of[table.edges[0]] == device_of[table.edges[1]])
        later = stages.stage_of[table.edges[:, joined]].max(axis=0)
        counts[later, joined, device_of[table.edges[0, joined]]] = -1.0
        return {"saving_ms": counts}

    def latency_ms(self, table: CostTable, device_of: IntArray) -> FloatArray:
        """Return the time saved, as a negative time, ms `[B]`."""
        source, target = device_of[:, table.edges[0]], device_of[:, table.edges[1]]
        edge = np.arange(table.edges.shape[1])
        return np.asarray(-np.where(source == target, table.saving_ms[edge, source], 0.0).sum(axis=1))

    def least_change_ms(self, table: CostTable, small_ms: float) -> Mapping[str, FloatArray | float]:
        """Return the smaller time of the two ends: two neighbours may save as much."""
        group = np.where(np.isfinite(table.group_ms), table.group_ms, 0.0)
        return {"saving_ms": np.minimum(group[table.edges[0]], group[table.edges[1]])}


class SubmodelOverhead(CostTerm):
    """The overhead of each submodel that HETERO forms on a device."""

    label = "overhead of submodels"
    parameters = ("submodel_ms",)
    basic = True
    pairwise = False

    def counts(self, table: CostTable, device_of: IntArray) -> Mapping[str, Counts]:
        """Return the number of submodels on each device, `[B, D]`."""
        return {"submodel_ms": submodel_counts(table.n_groups, table.edges, device_of, table.n_devices)}

    def stage_counts(self, table: CostTable, device_of: IntArray, stages: Stages) -> Mapping[str, Counts]:
        """Return the number of submodels of each stage on its device, `[S, D]`."""
        counts = np.zeros((len(stages.n_submodels), table.n_devices))
        counts[stages.stage_of, device_of] = stages.n_submodels[stages.stage_of]
        return {"submodel_ms": counts}

    def latency_ms(self, table: CostTable, device_of: IntArray) -> FloatArray:
        """Return the overhead of all submodels, ms `[B]`."""
        counts = submodel_counts(table.n_groups, table.edges, device_of, table.n_devices)
        return np.asarray(counts @ table.submodel_ms)


TERMS: tuple[CostTerm, ...] = (GroupTimes(), Transfers(), Savings(), SubmodelOverhead())
"""The terms in the order in which they are added up."""
