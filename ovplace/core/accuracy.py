"""Differences of outputs to a reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ovplace.core.measurement import OutputError

Array = NDArray[np.generic]

NOT_FINITE = "outputs_not_finite"
"""A backend's fact: the outputs of which the reference has values, and none that is finite."""

_SQUARABLE = 1e-100
"""Sums of squares of numbers between this and its reciprocal neither overflow nor vanish."""


def compare(name: str, reference: Array, output: Array) -> OutputError:
    """Return the difference of one output to the reference; infinite where shapes or finite values differ.

    Args:
        name: the output.
        reference: what the whole model computes.
        output: what the placed model computes.

    Example:
        >>> compare("y", np.array([1.0, 4.0]), np.array([1.0, 4.5])).max_rel
        0.125
    """
    unlike = OutputError(name, float("inf"), float("inf"), 0.0)
    if reference.shape != output.shape:
        return unlike
    if reference.dtype.kind not in "fiub":
        return OutputError(name, 0.0, 0.0, 1.0) if np.array_equal(reference, output) else unlike
    a, b = reference.astype(np.float64).ravel(), output.astype(np.float64).ravel()
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.all():
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return unlike
        a, b = a[finite], b[finite]
    with np.errstate(over="ignore"):
        max_abs = _largest(a - b)
    scale = _largest(a)
    return OutputError(name, max_abs, max_abs / scale if scale else max_abs, _cosine(a, b))


def has_no_finite_value(reference: Array) -> bool:
    """Return whether an output has values, and only infinite ones or NaN, so that errors of finite ones are not seen.

    Args:
        reference: what the whole model computes.
    """
    return reference.size > 0 and reference.dtype.kind == "f" and not np.isfinite(reference.astype(np.float64)).any()


def _largest(a: NDArray[np.float64]) -> float:
    """Return the largest magnitude, without a copy: new memory took two thirds of the time of a comparison."""
    return float(max(a.max(initial=0.0), -a.min(initial=0.0)))


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    scales = _largest(a), _largest(b)
    if not all(scales):
        return float(np.array_equal(a, b))
    if not _SQUARABLE < min(scales) <= max(scales) < 1 / _SQUARABLE:
        a, b = a / scales[0], b / scales[1]
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def compare_all(names: Sequence[str], reference: Sequence[Array], outputs: Sequence[Array]) -> tuple[OutputError, ...]:
    """Return the difference of each output.

    Args:
        names: the outputs.
        reference: what the whole model computes, one array an output.
        outputs: what the placed model computes, one array an output.
    """
    return tuple(compare(n, a, b) for n, a, b in zip(names, reference, outputs, strict=True))
