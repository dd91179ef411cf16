"""Two aliases of the CPU with a small model and its placements on them."""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.testing.placements import later_half

SPEC = MeasureSpec(warmup=1, blocks=2, repeats=2, min_time_ms=0.0, hopeless_ratio=1e6)
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
PAIR = (Device("CPU_A", "CPU", F32), Device("CPU_B", "CPU", F32))
NAMES = ("CPU_A", "CPU_B")


def chain(kind=np.float32, shape=(2, 8)):
    """Return a model that converts its input to f32 and does five things with it."""
    x = ops.parameter(list(shape), kind, name="x")
    x.output(0).set_names({"x"})
    y = ops.convert(x, "f32", name="converted")
    for i in range(4):
        y = ops.tanh(ops.multiply(y, ops.constant(np.float32([[0.5 + i]])), name=f"times{i}"), name=f"tanh{i}")
    return ov.Model([ops.result(y, name="y")], [x])


def whole(graph, device="CPU_A", names=NAMES):
    return Candidate(device, Placement.uniform(len(graph), device, names))


def halves(graph, names=NAMES):
    """Return the candidate that puts what computes in the second half of the order on the second device."""
    return Candidate("halves", Placement(later_half(graph), names))
