"""Notes on the check of outputs: why correct devices differ, and what the check cannot see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ovplace.core.accuracy import NOT_FINITE
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import QUANTISING, RANDOM

COARSE = frozenset({"bf16", "f8e4m3", "f8e5m2"})
"""Types of outputs in which one step of rounding is a relative error of more than 0.001."""


def mismatch_notes(graph: OpGraph, names: Sequence[str]) -> tuple[str, ...]:
    """Return what to say of baselines whose outputs differ, where the model is of a kind that makes devices differ.

    Args:
        graph: the model.
        names: names of the baselines whose outputs differ.
    """
    why = why_outputs_differ(graph)
    if not (names and why):
        return ()
    return (f"outputs of {', '.join(names)} differ: {why}; allow larger errors with --max-error",)


def not_finite_notes(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return what to say of outputs without a finite value, whose check sees little.

    Args:
        facts: the backend's facts.
    """
    if not (names := facts.get(NOT_FINITE)):
        return ()
    return (
        f"no value of {names} is finite on the CPU with these inputs: only the places of infinities and NaN were "
        "compared; give other inputs",
    )


def why_outputs_differ(graph: OpGraph) -> str:
    """Return why correct devices give different outputs of a model; empty where they should not."""
    drawn, quantised = (sorted(kinds & graph.all_types) for kinds in (RANDOM, QUANTISING))
    reasons = [f"draws random numbers ({', '.join(drawn)})"] if drawn else []
    reasons += [f"is quantised ({', '.join(quantised)}), and devices round differently"] if quantised else []
    coarse = sorted(COARSE & _output_types(graph))
    reasons += [f"has outputs in {', '.join(coarse)}, which devices round differently"] if coarse else []
    return f"the model {' and '.join(reasons)}" if reasons else ""


def _output_types(graph: OpGraph) -> set[str]:
    """Return the element types of the model's outputs."""
    pairs = zip(graph.types, graph.element_types, strict=True)
    return {element for kind, elements in pairs if kind == "Result" for element in elements}
