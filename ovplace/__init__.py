"""Finds, by measuring, which device should run each operation of a model under OpenVINO's HETERO plugin.

    import ovplace
    run = ovplace.optimize("model.xml", device=["GPU", "CPU"], time="2m")
    print(run.verdict.status, run.best.latency_ms)
    compiled = run.load()

    run = ovplace.open_run("runs/model")  # later, or in another program

Errors are those of `ovplace.errors`. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ovplace import errors as errors
from ovplace.version import __version__ as __version__

if TYPE_CHECKING:
    from ovplace.api.explaining import explain as explain
    from ovplace.api.measurement import measure as measure
    from ovplace.api.run import Run as Run
    from ovplace.api.run import open_run as open_run
    from ovplace.api.searching import bound as bound
    from ovplace.api.searching import optimize as optimize
    from ovplace.core.result.run_result import RunResult as RunResult
    from ovplace.devices.emulated_gpu import enable as enable_emulated_gpu
    from ovplace.ir.load import load as load

_PLACES = {
    "Run": "api.run:Run",
    "RunResult": "core.result.run_result:RunResult",
    "bound": "api.searching:bound",
    "enable_emulated_gpu": "devices.emulated_gpu:enable",
    "explain": "api.explaining:explain",
    "load": "ir.load:load",
    "measure": "api.measurement:measure",
    "open_run": "api.run:open_run",
    "optimize": "api.searching:optimize",
}
"""Where each public name comes from."""

__all__ = [
    "Run", "RunResult", "bound", "enable_emulated_gpu", "errors", "explain", "load", "measure", "open_run", "optimize",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'ovplace' has no attribute '{name}'")
    module, _, attribute = _PLACES[name].partition(":")
    return getattr(importlib.import_module(f"ovplace.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
