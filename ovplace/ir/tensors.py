"""Sizes of the tensors that operations produce."""

from __future__ import annotations

import math

import openvino as ov


def shape_of(port: ov.Output) -> tuple[int, ...]:
    """Return the shape of an output, -1 for a dynamic dimension; a dynamic rank is `(-1,)`."""
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        return (-1,)
    dimensions = [shape[i] for i in range(len(shape))]  # iterating takes five times as long
    return tuple(d.get_length() if d.is_static else -1 for d in dimensions)


def element_count(port: ov.Output) -> int:
    """Return the number of elements of an output; dynamic dimensions count as 1."""
    return math.prod(abs(d) for d in shape_of(port))


def output_bytes(port: ov.Output) -> int:
    """Return the size of an output in bytes, rounded up for types of less than a byte."""
    bits = int(port.get_element_type().bitwidth)
    return (element_count(port) * bits + 7) // 8
