"""The prepared model of a run."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.errors import ModelError
from ovplace.graphs.op_graph import OpGraph
from ovplace.measuring.isolated_call import isolated_call
from ovplace.store.run_folder import RunFolder


def prepare_model(config: RunConfig, folder: RunFolder, known_hash: str | None = None) -> OpGraph:
    """Prepare the model into the run folder, unless a run has done that there, and read its operations.

    A prepared model of a call that failed before the run began is replaced: it may be of another model. One that was
    damaged since the run began is made anew where the run is continued, which also writes its placement again.

    Args:
        config: names the model and its shapes.
        folder: the run folder.
        known_hash: content hash of the prepared model of the run that is continued, empty where it is not known; None
            for a new run, and for one that is only read.

    Raises:
        ModelError: the model cannot be read or prepared, or not within the time of the call.
        UsageError: the shapes are not understood or do not fit the inputs.
    """
    from ovplace.ir.prepare.prepare import prepare
    from ovplace.ir.read import read_graph

    target = folder.prepared_model
    if folder.has_begun:
        if known_hash is None:
            return read_graph(target)
        if (graph := _undamaged(target, known_hash)) is not None:
            return graph
    model = Path(config.search.model)
    isolated_call(
        f"reading '{model}'", prepare, model, target, config.search.shape, limit_s=config.search.time_s or None
    )
    return read_graph(target)


def _undamaged(prepared: Path, known_hash: str) -> OpGraph | None:
    """Return the operations of a prepared model; None where it is not there, or no longer what it was."""
    from ovplace.ir.read import read_graph

    with suppress(ModelError):
        graph = read_graph(prepared)
        return graph if known_hash in ("", graph.content_hash) else None
    return None
