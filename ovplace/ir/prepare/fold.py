"""Folding shape sub-graphs and constants without expanding weights."""

from __future__ import annotations

import openvino as ov
from openvino.passes import ConstantFolding, Manager

from ovplace.graphs.op_kinds import RANDOM
from ovplace.ir.bodies import all_models
from ovplace.ir.tensors import element_count, output_bytes

_KEEP = "DisableConstantFolding_0"  # the rt_info key that ov::pass::ConstantFolding asks for (openvino 2026.4.1)
_SMALL_ELEMENTS = 8
_BIG_BYTES = 1 << 20


def fold(model: ov.Model) -> None:
    """Evaluate what depends on constants and fixed shapes only, in place.

    Left as they are: conversions of low-precision weights (f16, bf16, 8 and 4 bit) to floating point, which plugins
    fuse into the operation that reads them and which would double to octuple the file, and constants that are
    generated from much smaller ones (a large Broadcast). Plain `ConstantFolding` made a 22.5 MB int8 encoder 89.5 MB
    and 3.6 times slower.
    """
    kept = [op for part in all_models(model) for op in _kept(part)]
    for op in kept:
        op.get_rt_info()[_KEEP] = ""
    manager = Manager()
    manager.register_pass(ConstantFolding())
    manager.run_passes(model)
    for op in kept:
        del op.get_rt_info()[_KEEP]


def _kept(model: ov.Model) -> list[ov.Node]:
    ops = model.get_ordered_ops()
    constant = _computed_from(ops, ("Constant",))
    known = _computed_from(ops, ("Constant", "ShapeOf"))
    in_shapes = _ancestors(ops, known - constant) & constant
    candidates = (op for op in ops if op.get_name() in constant - in_shapes)
    return [op for op in candidates if _narrows(op, constant) or _generates(op)]


def _computed_from(ops: list[ov.Node], roots: tuple[str, ...]) -> set[str]:
    """Return the unique names of operations of the types `roots`, and of those computed from nothing else."""
    found: set[str] = set()
    for op in ops:
        sources = [port.get_node().get_name() for port in op.input_values()]
        computed = bool(sources) and found.issuperset(sources) and op.get_type_name() not in RANDOM
        if op.get_type_name() in roots or computed:
            found.add(op.get_name())
    return found


def _ancestors(ops: list[ov.Node], names: set[str]) -> set[str]:
    found = set(names)
    for op in reversed(ops):
        if op.get_name() in found and op.get_type_name() != "ShapeOf":
            found.update(port.get_node().get_name() for port in op.input_values())
    return found


def _narrows(op: ov.Node, constant: set[str]) -> bool:
    """Return whether `op` widens a low-precision weight.

    A few numbers are worth nothing narrow, and as a Convert that several distant operations read they would force all
    of those onto one device; those inside a weight's own chain stay, for plugins match the whole chain.
    """
    if op.get_type_name() != "Convert":
        return False
    source, target = op.input(0).get_element_type(), op.output(0).get_element_type()
    if not (target.is_real() and source.bitwidth <= 16 and source.bitwidth < target.bitwidth):
        return False
    readers = {port.get_node().get_name() for port in op.output(0).get_target_inputs()}
    in_one_chain = len(readers) == 1 and readers <= constant
    return element_count(op.output(0)) > _SMALL_ELEMENTS or in_one_chain


def _generates(op: ov.Node) -> bool:
    """Return whether folding `op` would store at least `_BIG_BYTES` more than it reads."""
    if op.get_type_name() == "Constant":
        return False
    written = sum(output_bytes(port) for port in op.outputs())
    return written - sum(output_bytes(port) for port in op.input_values()) >= _BIG_BYTES
