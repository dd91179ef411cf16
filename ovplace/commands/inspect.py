"""The sizes of a model as it would be placed."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ovplace.commands.support import DeviceSupport, ask_devices
from ovplace.config.schema import RunConfig
from ovplace.ir.model_info import InputFacts, model_info
from ovplace.measuring.isolated_call import isolated_call
from ovplace.session.prepare import prepare_model
from ovplace.session.problem import form_groups
from ovplace.session.session import check_settings
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class Inspection:
    """The composition of a model.

    Attributes:
        path: the model file.
        hash: content hash of the prepared model.
        operations: of the prepared model, Constants, Parameters and Results included.
        operations_before: of the model as it is.
        edges: connections of the prepared model.
        weight_bytes: size of the prepared model's weights.
        types: how many operations there are of each type, most frequent first.
        inputs: of the model as it is.
        legal_groups: groups that HETERO can place independently.
        groups: groups that a search would place.
        coarsener: the coarsener that formed them.
        devices: what each device of this machine can run, the emulated GPU where there is no real one.
    """

    path: str
    hash: str
    operations: int
    operations_before: int
    edges: int
    weight_bytes: int
    types: Mapping[str, int]
    inputs: tuple[InputFacts, ...]
    legal_groups: int
    groups: int
    coarsener: str
    devices: tuple[DeviceSupport, ...]


def inspect(config: RunConfig) -> Inspection:
    """Prepare the model in a temporary folder, count, and ask each device what it can run.

    Raises:
        OvplaceError: the model cannot be prepared, or the coarsener or its settings are unknown.
    """
    from ovplace.ir.legal.groups import legal_groups

    check_settings(config)
    model = Path(config.search.model)
    before = isolated_call(f"reading '{model}'", model_info, model, config.search.shape)
    with tempfile.TemporaryDirectory() as temporary:
        folder = RunFolder(Path(temporary))
        graph = prepare_model(config, folder)
        weight_bytes = folder.prepared_model.with_suffix(".bin").stat().st_size
        devices = ask_devices(graph, folder.prepared_model)
    return Inspection(
        path=config.search.model,
        hash=graph.content_hash,
        operations=len(graph),
        operations_before=before.operations,
        edges=graph.edges.shape[1],
        weight_bytes=weight_bytes,
        types=dict(Counter(graph.types).most_common()),
        inputs=before.inputs,
        legal_groups=legal_groups(graph).n_groups,
        groups=form_groups(config, graph).n_groups,
        coarsener=config.search.coarsener,
        devices=devices,
    )
