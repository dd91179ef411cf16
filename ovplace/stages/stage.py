"""The stages of a placement: the submodels that HETERO would form, each with its device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.graphs.submodels import is_unread, running_submodels, submodel_devices
from ovplace.ir.legal.state import variable_ends

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
        PlacementError: HETERO cannot run it, as `check_submodels` says.
    """
    ops = np.array(part or range(len(graph)), dtype=np.int64)
    used = np.unique(placement.device_of[ops])
    if len(used) == 1:
        return (Stage(tuple(ops.tolist()), placement.devices[used[0]]),)
    device_of = np.full(len(graph), _ELSEWHERE)
    device_of[ops] = placement.device_of[ops]
    submodels = running_submodels(graph, device_of)
    if not part:
        check_submodels(graph, submodels)
    devices = submodel_devices(graph, device_of, submodels)
    found = zip(submodels, devices, strict=True)
    return tuple(
        Stage(tuple(ops.tolist()), placement.devices[d])
        for ops, d in found
        if d != _ELSEWHERE and not is_unread(graph, ops)
    )


def check_submodels(graph: OpGraph, submodels: Sequence[IntArray]) -> None:
    """Check that HETERO can run submodels.

    Args:
        graph: the model.
        submodels: as `running_submodels` returns them. A Constant with its Results is none of them, and runs.

    Raises:
        PlacementError: a Result has become a submodel by itself, which HETERO's removal of cycles may cut off; or the
            ReadValue and the Assign of a variable are in different ones, each of which has a state of its own.

    Source: openvino `src/plugins/hetero/src/compiled_model.cpp` (2026): no operation is left to take the tensor from.
    """
    submodel_of = {op: number for number, ops in enumerate(submodels) for op in ops.tolist()}
    for result, kind in enumerate(graph.types):
        if kind == "Result" and result not in submodel_of and (source := graph.predecessors[result][0]) in submodel_of:
            raise PlacementError(
                "HETERO cannot compile this placement: to avoid a cycle of submodels it cuts the output of "
                f"'{graph.names[source]}' off; put the operations that read it on the same device"
            )
    for ends in variable_ends(graph):
        if len({submodel_of[op] for op in ends}) > 1:
            names = " and ".join(f"'{graph.names[op]}'" for op in ends)
            raise PlacementError(
                f"{names} read and write one state, which submodels do not share; put them, and what connects them, "
                "on one device"
            )
