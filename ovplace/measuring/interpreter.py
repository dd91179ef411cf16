"""Fresh interpreters that find the modules which this process finds, and no others."""

from __future__ import annotations

import sys

# The path comes first: what is imported before it is set is the standard library's.
_PROGRAM = """
import runpy, sys
module, sys.path[:], sys.argv[1:] = sys.argv[1], sys.argv[2:], []
sys.modules["openvino_telemetry"] = None  # as `without_telemetry`
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def running(module: str) -> list[str]:
    """Return the command that runs a module, or a package's `__main__`, with the `sys.path` of this process.

    `python -m` would import from the current folder first, where files may lie that somebody else has written, and
    would not find what a program has put into its own `sys.path`.

    Args:
        module: dotted path of the module.
    """
    path = [entry for entry in sys.path if isinstance(entry, str)]  # imports ignore others
    return [sys.executable, "-P", "-c", _PROGRAM, module, *path]


def without_telemetry() -> None:
    """Let this process import openvino without its telemetry, as where that is not installed.

    With it, `import openvino` starts a process that tells Google Analytics of the import, for up to three seconds where
    the network does not answer (`openvino_telemetry/backend/backend_ga4.py`): beside the first measurements, and once
    for each process that measures.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # imports understand None
