"""Operations and weights of models, those inside of sub-graphs included."""

from __future__ import annotations

import numpy as np
import openvino as ov


def all_ops(model: ov.Model) -> list[ov.Node]:
    """Return the operations."""
    top = model.get_ops()
    bodies = [node.get_function() for node in top if node.get_type_name() == "TensorIterator"]
    return [*top, *(node for body in bodies for node in body.get_ops())]


def constants(model: ov.Model) -> dict[str, np.ndarray]:
    """Return the floating-point constants by friendly name."""
    found = (node for node in all_ops(model) if node.get_type_name() == "Constant")
    return {node.friendly_name: node.data for node in found if node.get_element_type().is_real()}
