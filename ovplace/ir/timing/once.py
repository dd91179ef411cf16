"""One compilation and one inference, timed: the basis of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import openvino as ov

from ovplace.errors import ModelError
from ovplace.ir.exceptions import last_line
from ovplace.ir.inputs import fill, inputs_of
from ovplace.ir.opening import open_model
from ovplace.ir.timing.state import reset_state


@dataclass(frozen=True)
class FirstTiming:
    """The times of a model on the CPU.

    Attributes:
        compiling_s: time of one compilation in seconds.
        inferring_s: time of the second inference in seconds.
    """

    compiling_s: float
    inferring_s: float


def time_once(path: Path, seed: int = 0, given: str = "") -> FirstTiming:
    """Compile a prepared model for the CPU and run it twice; the second inference counts.

    Args:
        path: a prepared model.
        seed: seed of random inputs.
        given: `.npz` file with the inputs; empty for random ones.

    Raises:
        ModelError: the model or its inputs cannot be read, or it does not run.
    """
    core = ov.Core()
    model = open_model(core, path)
    arrays = inputs_of(model, given, seed)
    try:
        start = perf_counter()
        request = core.compile_model(model, "CPU").create_infer_request()
        compiled = perf_counter()
        fill(request, model, arrays)
        request.infer()
        reset_state(request)  # the inputs may fit no other state
        warm = perf_counter()
        request.infer()
    except RuntimeError as error:
        raise ModelError(f"the model does not run on the CPU: {last_line(error)}") from error
    return FirstTiming(compiled - start, perf_counter() - warm)
