"""The devices of a placement by the names of nodes, which are not always those of OpenVINO's operations.

OpenVINO calls the operation that computes an output of the graph like that tensor, likewise one of a node without a
name, and numbers those of which it makes several out of one node, such as `MVN_7` (seen on openvino 2026.4.1). The
names of tensors stay what they were in the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.exporters._onnx_nodes import Node, read_nodes
from ovplace.graphs.op_kinds import FREE
from ovplace.ir.placed_model import PlacedModel
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class NamedNodes:
    """What is known of the nodes of a model.

    Attributes:
        names: the name of each node on a device, with the name of the device; several may be alike.
        limits: sentences on what is not known, one line each.
    """

    names: Sequence[tuple[str, str]]
    limits: tuple[str, ...]


def named_nodes(folder: Path, found: PlacedModel) -> NamedNodes:
    """Return the devices of the nodes of the ONNX file that a run was given; else of the operations, by their names.

    Args:
        folder: a finished run, or an exported one.
        found: the placed model in it.

    Raises:
        StoreError: the result of the run cannot be read.
    """
    run = RunFolder(folder)
    path = Path(run.read_result().model.path) if run.result.exists() else None
    if path is None or path.suffix.lower() != ".onnx":
        return _of_operations(found, "the run names no ONNX file")
    try:
        return _of_file(found, read_nodes(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return _of_operations(found, f"the nodes of '{path}' cannot be read: {reason}")


def _of_file(found: PlacedModel, nodes: Sequence[Node]) -> NamedNodes:
    device_of = _device_of_tensor(found)
    devices = [next((device_of[tensor] for tensor in node.outputs if tensor in device_of), "") for node in nodes]
    pairs = list(zip((node.name for node in nodes), devices, strict=True))
    lost = [node.name or "".join(node.outputs[:1]) for node, device in zip(nodes, devices, strict=True) if not device]
    limits = []
    if lost:
        limits.append(
            f"{len(lost)} of {len(nodes)} nodes are no operation of the placed model, such as {lost[0]!r}; "
            "ONNX Runtime places them, unless a rule occurs in their names"
        )
    return NamedNodes([(name, device) for name, device in pairs if device], tuple(limits))


def _device_of_tensor(found: PlacedModel) -> dict[str, str]:
    ops = [op for op in found.model.get_ordered_ops() if op.get_type_name() != "Result"]  # it names what it reads
    return {
        tensor: found.table[op.get_friendly_name()]
        for op in ops
        for port in op.outputs()
        for tensor in port.get_names()
    }


def _of_operations(found: PlacedModel, why: str) -> NamedNodes:
    ops = [op for op in found.model.get_ordered_ops() if op.get_type_name() not in FREE]
    made_up = [op.get_friendly_name() for op in ops if _is_made_up(op)]
    limits = [f"{why}; the rules use the names of OpenVINO's operations, which nodes may not have"]
    if made_up:
        limits.append(
            f"{len(made_up)} of {len(ops)} names are OpenVINO's own, such as {made_up[0]!r}, so they have no rule"
        )
    names = [op.get_friendly_name() for op in ops if not _is_made_up(op)]
    return NamedNodes([(name, found.table[name]) for name in names], tuple(limits))


def _is_made_up(op: ov.Node) -> bool:
    """Return whether OpenVINO numbered an operation, or called it like a tensor."""
    name, tensors = op.get_friendly_name(), {tensor for port in op.outputs() for tensor in port.get_names()}
    return name in tensors or (not tensors and re.fullmatch(rf"{op.get_type_name()}_\d+", name) is not None)
