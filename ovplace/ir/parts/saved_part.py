"""A part of a model as files that a program can run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import openvino as ov

from ovplace.ir.inputs import as_array, input_name, inputs_of
from ovplace.ir.parts.intermediate_tensors import IntermediateTensors
from ovplace.ir.parts.part import devices_of, extract
from ovplace.ir.placed_model import STORED_AFFINITY
from ovplace.store.arrays import write_arrays


def save_part(
    model_path: Path, ops: Sequence[int], known: Mapping[str, str], to: tuple[Path, Path], given: str, seed: int
) -> dict[str, str]:
    """Write operations of a model as a model of their own, with the data that they get in a whole inference.

    Args:
        model_path: the whole model.
        ops: indices of operations.
        known: device of each operation of the whole model, by name.
        to: the `.xml` and the `.npz` to write.
        given: an `.npz` with the inputs of the whole model; empty for random ones.
        seed: root seed of these.

    Returns:
        Device of each operation of the part, by name; its rt_info has it, too.

    Raises:
        PlacementError: nobody reads what the part computes.
        ModelError: the inputs cannot be read.
    """
    core = ov.Core()
    model = core.read_model(model_path)
    part = extract(model, ops)
    tensors = IntermediateTensors(core, model, inputs_of(model, given, seed))
    tensors.record([part])
    names = [input_name(port) for port in part.model.inputs]
    arrays = dict(zip(names, map(as_array, tensors.tensors(part, seed)), strict=True))
    table = devices_of(part.model, known)
    for op in part.model.get_ops():
        op.get_rt_info()[STORED_AFFINITY] = table[op.get_friendly_name()]
    ov.save_model(part.model, to[0], compress_to_fp16=False)
    write_arrays(to[1], arrays)
    return table
