"""Turning a model file into the one that is placed, measured and exported."""

from __future__ import annotations

from pathlib import Path

import openvino as ov

from ovplace.core.text.input_shapes import parse_shapes
from ovplace.errors import ModelError, UsageError
from ovplace.ir.exceptions import last_line, unwritten
from ovplace.ir.opening import open_model
from ovplace.ir.prepare.duplicate_constants import duplicate_constants
from ovplace.ir.prepare.fold import fold
from ovplace.ir.prepare.names import counted, make_unique, stabilise
from ovplace.ir.saving import save_over
from ovplace.ir.shapes import make_static


def prepare(source: Path, target_xml: Path, shape: str = "", core: ov.Core | None = None) -> None:
    """Write `source` as an IR with static inputs, folded shape sub-graphs and stable, unique names.

    The same file gives the same result in any process, whatever was read before: names that a frontend counts up are
    replaced by type and position. Weights keep their precision.

    Args:
        source: model file of any format that `open_model` reads.
        target_xml: where the IR is written; its weights go beside it, as `.bin`.
        shape: shapes of the inputs in the syntax of `parse_shapes`; empty keeps those of the file.
        core: the OpenVINO core that reads the model; a new one by default.

    Raises:
        ModelError: the model cannot be read, has no outputs, has dynamic inputs that `shape` does not fix, or has
            tensors that no memory holds.
        UsageError: `shape` is not understood or does not fit the inputs, or the target is the source.

    Source: HETERO keys placements by friendly name, and infers shapes anew in each submodel, so that cuts inside a
    shape sub-graph fail (openvino `src/plugins/hetero/src/subgraph_collector.cpp`).
    """
    shapes = parse_shapes(shape)
    if target_xml.resolve() == Path(source).resolve():
        raise UsageError(f"preparing '{source}' would overwrite it while it is read; choose another folder")
    core = core or ov.Core()
    model, again = open_model(core, source, shapes), open_model(core, source, shapes)
    if not (model.outputs or model.get_sinks()):
        raise ModelError(f"'{source}' has no outputs, so that nothing is computed; export it with them")
    read = counted(model, again)
    for one in (model, again):
        stabilise(one, read)
        make_static(one, shapes)
        _fold(one, source)
    stabilise(model, counted(model, again))  # what reshaping and folding have named by the counter, too
    duplicate_constants(model)
    make_unique(model)
    _save(model, target_xml)


def _fold(model: ov.Model, source: Path) -> None:
    try:
        fold(model)
    except RuntimeError as error:  # it makes room for each tensor, also where none is folded
        raise ModelError(
            f"'{source}' cannot be prepared: {last_line(error)}; give smaller shapes by --shape, or export it anew"
        ) from error


def _save(model: ov.Model, target_xml: Path) -> None:
    try:
        target_xml.parent.mkdir(parents=True, exist_ok=True)
        save_over(model, target_xml)  # whole or not at all: a call that continues the run reads what is there
    except (OSError, RuntimeError) as error:
        why = unwritten(error, target_xml.parent)
        raise ModelError(
            f"cannot write the prepared model '{target_xml}': {why}; make room there, or choose another folder with -o"
            ", or by TMPDIR if this one is temporary"
        ) from error
