"""The stages of a placement: the submodels that HETERO would form, each with its device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.placement import Placement
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.submodels import running_submodels, submodel_devices

_ELSEWHERE = -1
"""Device of the operations that are not of the part."""


@dataclass(frozen=True)
class Stage:
    """Operations that run as one compiled model. Equal stages of two placements compile to the same thing.

    Attributes:
        ops: indices of the operations, sorted.
        device: name of the device.
    """

    ops: tuple[int, ...] = field(repr=False)
    device: str


def stages_of(graph: OpGraph, placement: Placement, part: Sequence[int] = ()) -> tuple[Stage, ...]:
    """Return the stages of a placement, or of a part of it, in running order.

    A placement on one device is one stage even where its operations are not connected: that is what a user would
    compile without HETERO.

    Args:
        graph: the model.
        placement: the device of each operation, `[N]`.
        part: indices of operations; only their stages, as if the rest ran on a device of its own. Empty for all.
    """
    ops = np.array(part or range(len(graph)), dtype=np.int64)
    used = np.unique(placement.device_of[ops])
    if len(used) == 1:
        return (Stage(tuple(ops.tolist()), placement.devices[used[0]]),)
    device_of = np.full(len(graph), _ELSEWHERE)
    device_of[ops] = placement.device_of[ops]
    submodels = running_submodels(graph, device_of)
    devices = submodel_devices(graph, device_of, submodels)
    found = zip(submodels, devices, strict=True)
    return tuple(Stage(tuple(ops.tolist()), placement.devices[d]) for ops, d in found if d != _ELSEWHERE)
