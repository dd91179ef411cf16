"""The stages of a placement: the submodels that HETERO would form, each with its device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray, OpGraph
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
        _check_results(graph, submodels)
    devices = submodel_devices(graph, device_of, submodels)
    found = zip(submodels, devices, strict=True)
    return tuple(Stage(tuple(ops.tolist()), placement.devices[d]) for ops, d in found if d != _ELSEWHERE)


def _check_results(graph: OpGraph, submodels: Sequence[IntArray]) -> None:
    """Raise `PlacementError` where a Result is in no submodel: its removal of cycles has made it one by itself.

    Source: openvino `src/plugins/hetero/src/compiled_model.cpp` (2026): no operation is left to take the tensor from.
    """
    inside = np.concatenate(submodels)
    if cut := sorted({i for i, kind in enumerate(graph.types) if kind == "Result"}.difference(inside.tolist())):
        source = graph.names[graph.predecessors[cut[0]][0]]
        raise PlacementError(
            f"HETERO cannot compile this placement: to avoid a cycle of submodels it cuts the output of '{source}' off"
        )
