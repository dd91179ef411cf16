"""The stages of a placement: the submodels that HETERO would form, each with its device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.graphs.submodels import is_unread, running_submodels, submodel_devices

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
    compile without HETERO. Inputs that nobody reads are a submodel of HETERO, which has nothing to run.

    Args:
        graph: the model.
        placement: the device of each operation, `[N]`.
        part: indices of operations; only their stages, as if the rest ran on a device of its own. Empty for all.

    Raises:
        PlacementError: HETERO would cut an output off from its operation, and cannot compile what is left.
    """
    ops = np.array(part or range(len(graph)), dtype=np.int64)
    used = np.unique(placement.device_of[ops])
    if len(used) == 1:
        return (Stage(tuple(ops.tolist()), placement.devices[used[0]]),)
    device_of = np.full(len(graph), _ELSEWHERE)
    device_of[ops] = placement.device_of[ops]
    submodels = running_submodels(graph, device_of)
    if not part:
        check_results(graph, submodels)
    devices = submodel_devices(graph, device_of, submodels)
    found = zip(submodels, devices, strict=True)
    return tuple(
        Stage(tuple(ops.tolist()), placement.devices[d])
        for ops, d in found
        if d != _ELSEWHERE and not is_unread(graph, ops)
    )


def check_results(graph: OpGraph, submodels: Sequence[IntArray]) -> None:
    """Check that no Result has become a submodel by itself, which HETERO's removal of cycles may cut off.

    Args:
        graph: the model.
        submodels: as `running_submodels` returns them. A Constant with its Results is none of them, and runs.

    Raises:
        PlacementError: one has.

    Source: openvino `src/plugins/hetero/src/compiled_model.cpp` (2026): no operation is left to take the tensor from.
    """
    inside = {op for ops in submodels for op in ops.tolist()}
    for result, kind in enumerate(graph.types):
        if kind == "Result" and result not in inside and (source := graph.predecessors[result][0]) in inside:
            raise PlacementError(
                "HETERO cannot compile this placement: to avoid a cycle of submodels it cuts the output of "
                f"'{graph.names[source]}' off; put the operations that read it on the same device"
            )
