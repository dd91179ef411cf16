"""The stages of a placement: the submodels that HETERO would form, each with its device."""

from __future__ import annotations

from dataclasses import dataclass, field

from ovplace.core.placement import Placement
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.submodels import running_submodels, submodel_devices


@dataclass(frozen=True)
class Stage:
    """Operations that run as one compiled model. Equal stages of two placements compile to the same thing.

    Attributes:
        ops: indices of the operations, sorted.
        device: name of the device.
    """

    ops: tuple[int, ...] = field(repr=False)
    device: str


def stages_of(graph: OpGraph, placement: Placement) -> tuple[Stage, ...]:
    """Return the stages of a placement in running order.

    A placement on one device is one stage even where its operations are not connected: that is what a user would
    compile without HETERO.

    Args:
        graph: the model.
        placement: the device of each operation, `[N]`.
    """
    if placement.is_uniform:
        return (Stage(tuple(range(len(graph))), placement.used[0]),)
    submodels = running_submodels(graph, placement.device_of)
    devices = submodel_devices(graph, placement.device_of, submodels)
    return tuple(Stage(tuple(ops.tolist()), placement.devices[d]) for ops, d in zip(submodels, devices, strict=True))
