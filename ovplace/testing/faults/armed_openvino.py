"""The OpenVINO backend with faults on demand: its next compilation or inference does what the armed file says.

A plug-in with its dotted path, `ovplace.testing.faults.armed_openvino`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ovplace.backends.openvino import backend, config
from ovplace.core.measurement import Job
from ovplace.testing.fake_backend import FAULTS
from ovplace.testing.faults.arming import disarm

SUMMARY = "real inferences with faults on demand, for tests"
NAME = "ovplace.testing.faults.armed_openvino"


@dataclass(frozen=True)
class Config(config.Config):
    """Settings of the backend.

    Attributes:
        armed: file with `compile` or `infer` and the name of the fault, a key of `fake_backend.FAULTS`.
    """

    armed: str = ""


class Backend(backend.Backend):
    """Real inferences, but for the one that is armed."""

    def __init__(self, job: Job) -> None:
        """Let OpenVINO's functions look for the armed file.

        Raises:
            DeviceError, ModelError: as those of the real backend.
        """
        import openvino as ov

        options = dict(job.options)
        armed = str(options.pop("armed"))
        super().__init__(replace(job, options=options))
        ov.Core.compile_model = _armed(ov.Core.compile_model, armed, "compile")
        ov.InferRequest.infer = _armed(ov.InferRequest.infer, armed, "infer")


def _armed(function: Callable[..., Any], armed: str, when: str) -> Callable[..., Any]:
    def act(*arguments: Any, **options: Any) -> Any:
        if armed and Path(armed).exists() and Path(armed).read_text(encoding="ascii").startswith(when):
            FAULTS[disarm(armed).split()[-1]](None)
        return function(*arguments, **options)

    return act
