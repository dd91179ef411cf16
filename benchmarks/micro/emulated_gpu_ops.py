"""Latency of single operations on the emulated GPU over the CPU plugin's.

Both in f32, in turns, on a tensor of 1 x 64 x 112 x 112: the operations on which a search can gain on this processor.
Nothing is said about a real GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import Row
from benchmarks.script import UnavailableError
from benchmarks.timing import median_s

SHAPE = (1, 64, 112, 112)
POSITIVE = ("acosh", "log", "power")


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        turns: how often the devices take turns.
        repeats: inferences in each turn, after one to warm up.
        operations: names; all if there are none.
    """

    turns: int = 7
    repeats: int = 3
    operations: tuple[str, ...] = ()


SHORT = Options(turns=1, repeats=1, operations=("exp",))


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each operation.

    Raises:
        UnavailableError: there is no emulated GPU here.
    """
    from ovplace.devices import emulated_gpu

    if reason := emulated_gpu.why_unavailable():
        raise UnavailableError(reason)
    emulated_gpu.enable()  # before openvino is imported
    import openvino as ov

    core = ov.Core()
    for name, build in _operations().items():
        if not options.operations or name in options.operations:
            yield {"operation": name, "GPU (emulated) / CPU": _ratio(core, name, build, options)}


def _operations() -> dict[str, Callable[[Any], Any]]:
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


def _ratio(core: Any, name: str, build: Callable[[Any], Any], options: Options) -> float:
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
    turns = [[_timed_s(request, options.repeats) for request in requests] for _ in range(options.turns)]
    return float(np.median([gpu / cpu for gpu, cpu in turns]))


def _timed_s(request: Any, repeats: int) -> float:
    """Return the median of a few inferences, after one that warms the caches."""
    request.infer()
    return median_s(request.infer, repeats)
