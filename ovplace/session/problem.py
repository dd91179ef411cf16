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
        _check(coarse, legal)
    unsupported = np.flatnonzero(~coarse.every(supported).any(axis=1))
    if not len(unsupported):
        return coarse
    is_split = np.isin(coarse.group_of, unsupported)
    return Partition.from_labels(np.where(is_split, coarse.n_groups + legal.group_of, coarse.group_of))


def _check(found: object, legal: Partition) -> None:
    """Check that what a coarsener returns is a partition of the operations in which every legal group is whole."""
    if not isinstance(found, Partition):
        raise TypeError(f"coarsen() returned {type(found).__name__} in place of a Partition")
    if len(found.group_of) != len(legal.group_of):
        raise ValueError(
            f"coarsen() returned a partition of {len(found.group_of)} operations, the model has {len(legal.group_of)}; "
            "legal.then() turns one of the legal groups into one of the operations"
        )
    for group, members in enumerate(legal.members):
        if len(np.unique(found.group_of[members])) > 1:
            raise ValueError(f"coarsen() tore the legal group {group} apart")


def compute_features(graph: OpGraph, features: Sequence[ChosenPlugin]) -> FloatArray:
    """Return the features of each operation, `[N, F]`: the columns of all feature plug-ins in their order.

    Args:
        graph: the operations.
        features: feature plug-ins with their settings.

    Raises:
        UsageError: one fails, or returns values that are not finite.
    """
    found = np.empty((len(graph), 0))
    for feature in features:
        with feature.blaming():
            rows = np.asarray(feature.build().compute(graph), dtype=np.float64)
            found = np.concatenate([found, rows], axis=1)
            if not np.isfinite(rows).all():
                raise ValueError("compute() returned values that are not finite")
    return found
