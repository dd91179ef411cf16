"""The check of outputs: how far off they may be, why correct devices differ, and what the check cannot see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from ovplace.core.accuracy import NOT_FINITE
from ovplace.core.measurement import Measurement
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import QUANTISING, RANDOM
from ovplace.session.session import Session

F32_LIMIT = 1e-3
"""Relative output error that a placement on f32 devices may have where the user sets none. Two correct f32
implementations of the benchmark models differ by 3e-4 at most; a faulty kernel is off by the signal itself."""

_NO_ROUNDING = 1.0
"""Relative output error above which the signal itself is lost. OpenVINO's GPU plugin, emulated, is off by 3 and 7 on
*file type* and *diacritics* of `benchmarks/studies/packaged_models.py`, by `ovplace measure`; devices that only round
are off by less, but on models that amplify rounding."""

COARSE = frozenset({"bf16", "f8e4m3", "f8e5m2"})
"""Types of outputs in which one step of rounding is a relative error of more than 0.001."""

_MUCH = 0.1
"""Relative output error of a device in its own precision that a user should know of."""


def error_limit(session: Session, alone: Sequence[Measurement] | None = None) -> float:
    """Return the largest relative output error that a placement may have.

    It is the user's, or that of f32 where all devices compute in f32. Elsewhere a placement may be twice as far off as
    the worst device of a lower precision alone: mixing devices of one run must not lose more than using one of them. A
    device whose outputs have lost the signal, as by a fault of its driver, sets no limit, unless all have.

    Args:
        session: the run.
        alone: measurement of each device alone, in the order of the devices; None before they are measured, when
            nothing is too far off unless the limit is one of the first two.
    """
    if session.config.search.max_error is not None:
        return session.config.search.max_error
    if all(device.computes_in == "f32" for device in session.devices):
        return F32_LIMIT
    if alone is None:
        return inf
    pairs = zip(session.devices, alone, strict=True)
    errors = sorted(m.max_error for device, m in pairs if m.ok and device.computes_in != "f32")
    rounded = [error for error in errors if error <= _NO_ROUNDING] or errors[:1]
    return max(F32_LIMIT, 2 * max(rounded, default=0.0))


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


def inexact_notes(session: Session, errors: Mapping[str, float]) -> tuple[str, ...]:
    """Return what to say of devices whose own precision changes the outputs much, unless the user set the limit.

    Args:
        session: the run.
        errors: relative output error of single devices that work and may compute in less than f32, by their names.
    """
    found = [f"{name} {error:.2g}" for name, error in errors.items() if error > _MUCH]
    if not found or session.config.search.max_error is not None:
        return ()
    return (
        f"outputs in a device's own precision are off ({', '.join(found)}, relative to the largest value), and those "
        "of placements may be off by twice as much; give real inputs with --input, compute in f32, or set --max-error",
    )


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
