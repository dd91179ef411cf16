"""The prepared model of a run."""

from __future__ import annotations

from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.graphs.op_graph import OpGraph
from ovplace.measuring.isolated_call import isolated_call
from ovplace.store.run_folder import RunFolder


def prepare_model(config: RunConfig, folder: RunFolder) -> OpGraph:
    """Prepare the model into the run folder, unless a run has done that there, and read its operations.

    A prepared model of a call that failed before the run began is replaced: it may be of another model.

    Args:
        config: names the model and its shapes.
        folder: the run folder.

    Raises:
        ModelError: the model cannot be read or prepared, or not within the time of the call.
        UsageError: the shapes are not understood or do not fit the inputs.
    """
    from ovplace.ir.prepare.prepare import prepare
    from ovplace.ir.read import read_graph

    target = folder.prepared_model
    if not (target.exists() and folder.has_begun):
        model = Path(config.search.model)
        isolated_call(
            f"reading '{model}'", prepare, model, target, config.search.shape, limit_s=config.search.time_s or None
        )
    return read_graph(target)
