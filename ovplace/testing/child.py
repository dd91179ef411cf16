"""Another Python process, whose strings hash differently; one serves all calls, as its imports take seconds."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

_PROGRAM = """
import importlib, json, sys
answers, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    sys.path[:], module, function, arguments = json.loads(line)
    importlib.invalidate_caches()
    print(json.dumps(getattr(importlib.import_module(module), function)(*arguments)), file=answers, flush=True)
"""


def in_another_process(module: str, function: str, *arguments: str) -> Any:
    """Return what `module.function(*arguments)` returns there, through JSON.

    Args:
        module: dotted path of the module.
        function: name of the function.
        *arguments: its arguments.

    Raises:
        RuntimeError: the function raised; its traceback is on stderr.
    """
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps([sys.path, module, function, arguments]), file=process.stdin, flush=True)
    if not (answer := process.stdout.readline()):
        _process.cache_clear()
        process.communicate()
        raise RuntimeError(f"{module}.{function}{arguments} failed in another process, see its traceback on stderr")
    return json.loads(answer)


@cache
def _process() -> subprocess.Popen[str]:
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        env=os.environ | {"PYTHONHASHSEED": seed},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
