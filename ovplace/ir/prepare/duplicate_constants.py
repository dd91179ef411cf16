"""One Constant for each operation that reads it."""

from __future__ import annotations

import openvino as ov


def duplicate_constants(model: ov.Model) -> None:
    """Give every reader its own Constant, in place; the copies share memory, and their place in the saved weights.

    HETERO takes two operations that read one Constant for connected (openvino 2026.4.1), so that parts of the model
    that have nothing to do with each other become one submodel, which may then depend on itself through another device.
    """
    ops = model.get_ordered_ops()
    position = {op.get_name(): i for i, op in enumerate(ops)}
    for op in ops:
        if not isinstance(op, ov.op.Constant) or op.get_element_type() == ov.Type.string:
            continue
        readers: dict[int, list[ov.Input]] = {}
        for port in op.output(0).get_target_inputs():
            # A reader may be in a body of If or Loop: the ONNX frontend lets bodies read the same Constant.
            if (place := position.get(port.get_node().get_name())) is not None:
                readers.setdefault(place, []).append(port)
        for reader in sorted(readers)[1:]:
            copy = ov.op.Constant(op.tensor_view, shared_memory=True)
            copy.set_friendly_name(op.get_friendly_name())
            for port in readers[reader]:
                port.replace_source_output(copy.output(0))
