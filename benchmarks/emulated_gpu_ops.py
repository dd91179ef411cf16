"""Latency of single operations on the emulated GPU over the CPU plugin's, both f32, in turns; as JSON.

    python benchmarks/emulated_gpu_ops.py

Says which operations a search can gain on, on this processor; nothing about a real GPU.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

SHAPE = (1, 64, 112, 112)
TURNS, REPEATS = 7, 3
POSITIVE = ("acosh", "log", "power")


def main() -> None:
    from ovplace.devices import emulated_gpu

    emulated_gpu.enable()  # before openvino is imported
    import openvino as ov

    core = ov.Core()
    ratios = {name: ratio(core, name, build) for name, build in operations().items()}
    print(
        json.dumps(
            {"cpu": core.get_property("CPU", "FULL_DEVICE_NAME"), "shape": SHAPE, "gpu_over_cpu": ratios}, indent=1
        )
    )


def operations() -> dict[str, Callable[[Any], Any]]:
    """Return what is timed, each as a function of one tensor `[1, 64, 112, 112]`."""
    from openvino import opset13 as opset

    weights = np.random.default_rng(0).standard_normal((64, 64, 3, 3), dtype=np.float32)
    ones = [1, 1]
    return {
        "sinh": opset.sinh,
        "asinh": opset.asinh,
        "acosh": opset.acosh,
        "atan": opset.atan,
        "tan": opset.tan,
        "sin": opset.sin,
        "cos": opset.cos,
        "log": opset.log,
        "exp": opset.exp,
        "power": lambda x: opset.power(x, opset.constant(np.float32(2.3))),
        "softmax": lambda x: opset.softmax(x, 1),
        "convolution": lambda x: opset.convolution(x, opset.constant(weights), ones, ones, ones, ones),
    }


def ratio(core: Any, name: str, build: Callable[[Any], Any]) -> float:
    """Return the median over turns of GPU latency over CPU latency."""
    import openvino as ov
    from openvino import opset13 as opset

    data = np.random.default_rng(1).standard_normal(SHAPE, dtype=np.float32)
    data = np.abs(data) + np.float32(1.1) if name in POSITIVE else data
    x = opset.parameter(SHAPE, np.float32)
    model = ov.Model([build(x)], [x], name)
    requests = []
    for device in ("GPU", "CPU"):
        compiled = core.compile_model(model, device, {"INFERENCE_PRECISION_HINT": "f32"})
        requests.append(compiled.create_infer_request())
        requests[-1].set_input_tensor(ov.Tensor(data))
        requests[-1].infer()
    turns = [[timed_ms(request) for request in requests] for _ in range(TURNS)]
    return round(float(np.median([gpu / cpu for gpu, cpu in turns])), 2)


def timed_ms(request: Any) -> float:
    """Return the median of a few inferences, after one that warms the caches."""
    request.infer()
    samples = []
    for _ in range(REPEATS):
        start = perf_counter()
        request.infer()
        samples.append((perf_counter() - start) * 1e3)
    return float(np.median(samples))


if __name__ == "__main__":
    main()
