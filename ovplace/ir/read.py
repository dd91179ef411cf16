"""From an OpenVINO model to an `OpGraph`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import openvino as ov

from ovplace.errors import ModelError
from ovplace.graphs.op_graph import OpGraph
from ovplace.ir.bodies import bodies, nested
from ovplace.ir.content_hash import content_hash
from ovplace.ir.opening import open_model
from ovplace.ir.tensors import output_bytes, shape_of


def read_graph(path: Path) -> OpGraph:
    """Return the operations of a prepared model file.

    Raises:
        ModelError: the file cannot be read.
    """
    return op_graph(open_model(ov.Core(), path))


def op_graph(model: ov.Model) -> OpGraph:
    """Return the operations of `model` in `get_ordered_ops()` order; control dependencies are left out.

    Raises:
        ValueError: friendly names are not unique; `prepare` makes them so.
    """
    ops = model.get_ordered_ops()
    index = {op.get_name(): i for i, op in enumerate(ops)}
    wires = [(port, i, slot) for i, op in enumerate(ops) for slot, port in enumerate(op.input_values())]
    return OpGraph(
        names=tuple(op.get_friendly_name() for op in ops),
        types=tuple(op.get_type_name() for op in ops),
        attributes=tuple(_attributes(op) for op in ops),
        edges=np.array([(index[port.get_node().get_name()], i) for port, i, _ in wires], dtype=np.int64)
        .reshape(-1, 2)
        .T,
        ports=np.array([(port.get_index(), slot) for port, _, slot in wires], dtype=np.int64).reshape(-1, 2).T,
        shapes=tuple(tuple(shape_of(port) for port in op.outputs()) for op in ops),
        element_types=tuple(tuple(port.get_element_type().get_type_name() for port in op.outputs()) for op in ops),
        out_bytes=np.array([output_bytes(port) for port, _, _ in wires], dtype=np.int64),
        content_hash=content_hash(model),
    )


def _attributes(op: ov.Node) -> dict[str, str]:
    """Return the attributes as text, with the number of operations of each body, and their types."""
    texts = {key: _text(value) for key, value in op.get_attributes().items()}
    for i, body in enumerate(bodies(op)):
        types = {inner.get_type_name() for outer in body.get_ops() for inner in nested(outer)}
        texts |= {f"body_{i}_ops": str(len(body.get_ops())), f"body_{i}_types": ",".join(sorted(types))}
    return texts


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def own_name(path: Path) -> str:
    """Return the name that a model in IR has, which preparing keeps; without reading the model.

    Raises:
        ModelError: the file is no IR.
    """
    try:
        with path.open("rb") as stream:
            _, root = next(ElementTree.iterparse(stream, events=("start",)))
    except (OSError, ElementTree.ParseError, StopIteration) as error:
        raise ModelError(f"cannot read the model '{path}': {error}; it must be OpenVINO IR") from error
    return str(root.get("name", ""))
