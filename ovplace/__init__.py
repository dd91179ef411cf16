"""Finds, by measuring, on which device each operation of a model should run under OpenVINO's HETERO plugin.

    import ovplace
    result = ovplace.optimize("model.xml", device="GPU,CPU")
    print(result.verdict.status, result.best.latency_ms)
    compiled = ovplace.load(result.folder)

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ovplace.version import __version__ as __version__

if TYPE_CHECKING:
    from ovplace.api import bound as bound
    from ovplace.api import load as load
    from ovplace.api import optimize as optimize
    from ovplace.core.result import RunResult as RunResult
    from ovplace.devices.emulated_gpu import enable as enable_emulated_gpu

__all__ = ["RunResult", "bound", "enable_emulated_gpu", "load", "optimize"]


def __getattr__(name: str) -> Any:
    if name == "enable_emulated_gpu":
        from ovplace.devices.emulated_gpu import enable

        return enable
    if name in ("RunResult", "bound", "load", "optimize"):
        from ovplace import api

        return getattr(api, name)
    raise AttributeError(f"module 'ovplace' has no attribute '{name}'")
