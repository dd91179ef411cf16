"""Operations that the emulated GPU claims to support and computes wrongly, or cannot compile.

Found by single-operation models against the CPU plugin (openvino 2026.4.1, intel-opencl-rt 2026.2.0); these are
faults of the plugin's kernels on this OpenCL runtime, not of a real GPU:

* the tiled permute kernel gives garbage for three-dimensional data whose last two dimensions are swapped; the plugin
  also puts such a swap in front of three-dimensional matrix products;
* LSTMSequence does not compile (CL_INVALID_BINARY), NonZero has no kernel, NonMaxSuppression keeps other boxes.

They are the same inside If, Loop and TensorIterator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import openvino as ov

_FAULTY = {"LSTMSequence", "NonZero", "NonMaxSuppression"}


def is_faulty(op: ov.Node) -> bool:
    """Return whether the emulated GPU must not be given `op`."""
    kind = op.get_type_name()
    if kind == "Transpose":
        return _rank(op, 0) == 3 and _swaps_last_two(op)
    if kind == "MatMul":
        return _rank(op, 0) == 3 and (bool(op.get_attributes()["transpose_a"]) or _rank(op, 1) == 3)
    return kind in _FAULTY


def _rank(op: ov.Node, port: int) -> int:
    rank = op.input(port).get_partial_shape().rank
    return int(rank.get_length()) if rank.is_static else -1


def _swaps_last_two(op: ov.Node) -> bool:
    order = op.input_value(1).get_node()
    if order.get_type_name() != "Constant":
        return True
    return [int(axis) for axis in order.get_data().reshape(-1)] == [0, 2, 1]
