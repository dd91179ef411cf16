"""The stages of a placement: its submodels, one after another, as the cost model sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.device import Device
from ovplace.core.partition import Partition
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph
from ovplace.graphs.submodels import is_unread, running_submodels


@dataclass(frozen=True, eq=False)
class Stages:
    """The stage of each group and submodel. Submodels that share a group are one: only their sum is known by groups.

    Attributes:
        stage_of: stage of each group, in running order, `[G]`.
        stage_of_submodel: stage of each submodel, in running order, `[M]`.
        reader_share: part of a transfer from one device (row) to another (column) that the stage of the reader pays;
            the stage of the source pays the rest, `[D, D]`.
    """

    stage_of: IntArray
    stage_of_submodel: IntArray
    reader_share: FloatArray

    @classmethod
    def of(cls, graph: OpGraph, partition: Partition, device_of: IntArray, reader_share: FloatArray) -> Stages:
        """Return the stages of a placement.

        Args:
            graph: the model.
            partition: its groups.
            device_of: device of each operation, `[N]`; the same for all of a group.
            reader_share: as in the attributes.
        """
        submodels = [ops for ops in running_submodels(graph, device_of) if not is_unread(graph, ops)]
        number, op = np.repeat(np.arange(len(submodels)), [len(ops) for ops in submodels]), np.concatenate(submodels)
        pairs = np.stack(np.divmod(np.unique(partition.group_of[op] * len(submodels) + number), len(submodels)))
        first = np.zeros(partition.n_groups, dtype=np.int64)  # what runs nothing counts in the first stage
        first[pairs[0, ::-1]] = pairs[1, ::-1]
        labels = connected_labels(len(submodels), np.stack([first[pairs[0]], pairs[1]]))
        _, stage_of_submodel = np.unique(labels, return_inverse=True)
        return cls(stage_of_submodel[first], stage_of_submodel, reader_share)

    @property
    def n_submodels(self) -> IntArray:
        """Number of submodels of each stage, `[S]`."""
        return np.bincount(self.stage_of_submodel).astype(np.int64)

    def summed(self, submodel_ms: FloatArray) -> FloatArray:
        """Return the time of each stage, `[S]`, from that of each submodel, `[M]`."""
        return np.bincount(self.stage_of_submodel, submodel_ms).astype(np.float64)


def reader_shares(devices: tuple[Device, ...]) -> FloatArray:
    """Return which part of a transfer the reader pays, `[D, D]`.

    Submodels hand over tensors in host memory (openvino `src/plugins/hetero/src/sync_infer_request.cpp`). A CPU reads
    and writes them in place, any other device copies them in and out within its own inference: it pays, on whichever
    side it is, and both pay half where neither is a CPU. Between two CPUs the reader pays: it converts what it reads.
    """
    copies = np.array([device.plugin != "CPU" for device in devices])
    source, reader = copies[:, None], copies[None, :]
    return np.where(source & reader, 0.5, np.where(source, 0.0, 1.0))
