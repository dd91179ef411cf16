"""The problem of a run: legal groups, coarsened as configured, with the configured features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.config.resolve import ChosenPlugin
from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.core.partition import Partition
from ovplace.core.problem import Problem
from ovplace.errors import ModelError
from ovplace.graphs.op_graph import BoolArray, FloatArray, OpGraph


def make_problem(
    config: RunConfig,
    graph: OpGraph,
    devices: tuple[Device, ...],
    supported: BoolArray,
    groups: Partition | None = None,
) -> Problem:
    """Return the problem that the placer sees.

    Args:
        config: names coarsener, features and seed.
        graph: the prepared model's operations.
        devices: the devices to choose from, `[D]`.
        supported: which device supports which operation, `[N, D]`.
        groups: those of the run that is continued; None for a new one.

    Raises:
        ModelError: the model computes nothing.
    """
    return Problem(
        graph=graph,
        partition=groups or form_groups(config, graph, supported),
        devices=devices,
        supported=supported,
        features=compute_features(graph, config.plugins.features),
        seed=config.search.seed,
        feature_names=tuple(feature.plugin.name for feature in config.plugins.features),
    )


def form_groups(config: RunConfig, graph: OpGraph, supported: BoolArray | None = None) -> Partition:
    """Return the legal groups of `graph`, coarsened as configured.

    A coarse group that no device supports as a whole is split into its legal groups. That closes no cycle.

    Args:
        config: names the coarsener and its settings.
        graph: the prepared model's operations.
        supported: which device supports which operation, `[N, D]`; None as if one device supported all.

    Raises:
        ModelError: the model computes nothing.
    """
    from ovplace.ir.legal.groups import legal_groups

    if not len(graph):
        raise ModelError("the model has no operations left after preparing; there is nothing to place")
    legal = legal_groups(graph)
    supported = np.ones((len(graph), 1), dtype=bool) if supported is None else supported
    coarsener = config.plugins.coarsener
    with coarsener.blaming():
        coarse: Partition = coarsener.build().coarsen(graph, legal, legal.every(supported))
    unsupported = np.flatnonzero(~coarse.every(supported).any(axis=1))
    if not len(unsupported):
        return coarse
    is_split = np.isin(coarse.group_of, unsupported)
    return Partition.from_labels(np.where(is_split, coarse.n_groups + legal.group_of, coarse.group_of))


def compute_features(graph: OpGraph, features: Sequence[ChosenPlugin]) -> FloatArray:
    """Return the features of each operation, `[N, F]`: the columns of all feature plug-ins in their order.

    Args:
        graph: the operations.
        features: feature plug-ins with their settings.
    """
    found = np.empty((len(graph), 0))
    for feature in features:
        with feature.blaming():
            found = np.concatenate([found, feature.build().compute(graph)], axis=1)
    return found
