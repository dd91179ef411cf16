"""Hashes of what a model computes, with the names of its operations and without."""

from __future__ import annotations

import hashlib

import numpy as np
import openvino as ov

from ovplace.ir.bodies import bodies, wiring
from ovplace.ir.tensors import shape_of

# Threads that read the first constants of a process at the same time wait for one another for ever (openvino 2026.4.1),
# but not those that import a module.
_ = ov.op.Constant(np.zeros(1)).data


def content_hash(model: ov.Model) -> str:
    """Return a hash over operations, names, attributes, connections, and the bytes of the constants.

    Not part of it: rt_info, the model's name, file names, the order in which a file lists operations, and the names
    inside the bodies of If, Loop and TensorIterator, which no placement refers to.

    Cost: one pass over the constants, without a copy.
    """
    return _digest(model, named=True).hexdigest()


def computation_hash(model: ov.Model) -> str:
    """Return the same hash without the names of operations, which a model gets anew whenever it is converted.

    An operation is known by what it computes: once a model is saved, it may list its operations in another order.
    """
    label = {op.get_name(): str(i) for i, op in enumerate(model.get_parameters())}
    for op in model.get_ordered_ops():
        label.setdefault(op.get_name(), "")
        label[op.get_name()] = _op_digest(op, label).hex()
    interface = [[label[op.get_name()] for op in group] for group in (model.get_parameters(), model.get_results())]
    return hashlib.blake2b(repr([interface, sorted(label.values())]).encode(), digest_size=16).hexdigest()


def _digest(model: ov.Model, *, named: bool) -> hashlib.blake2b:
    ops = model.get_ordered_ops()
    label = {op.get_name(): op.get_friendly_name() if named else str(i) for i, op in enumerate(ops)}
    parts = sorted(_op_digest(op, label) for op in ops)
    interface = [[label[op.get_name()] for op in group] for group in (model.get_parameters(), model.get_results())]
    return hashlib.blake2b(repr(interface).encode() + b"".join(parts), digest_size=16)


def _op_digest(op: ov.Node, label: dict[str, str]) -> bytes:
    info = op.get_type_info()
    fields = (
        label[op.get_name()],
        info.name,
        info.version_id,
        sorted((key, repr(value)) for key, value in op.get_attributes().items()),
        [(label[port.get_node().get_name()], port.get_index()) for port in op.input_values()],
        [(port.get_element_type().get_type_name(), shape_of(port)) for port in op.outputs()],
        wiring(op),
        [_digest(body, named=False).hexdigest() for body in bodies(op)],
    )
    digest = hashlib.blake2b(repr(fields).encode(), digest_size=16)
    if isinstance(op, ov.op.Constant):
        _add_data(digest, op)
    return digest.digest()


def _add_data(digest: hashlib.blake2b, constant: ov.op.Constant) -> None:
    data = constant.data
    if data.dtype.kind in "SUO":
        digest.update(repr(data.tolist()).encode())
    elif data.size:  # no memory is cast where there is none
        digest.update(memoryview(data).cast("B"))
