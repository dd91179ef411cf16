"""Runs a function in another Python process, whose strings hash differently."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

_PROGRAM = """
import importlib, json, sys
module, function, *arguments = sys.argv[1:]
print(json.dumps(getattr(importlib.import_module(module), function)(*arguments)))
"""


def in_another_process(module: str, function: str, *arguments: str) -> Any:
    """Return what `module.function(*arguments)` returns there, through JSON.

    Raises:
        subprocess.CalledProcessError: the function raised; its traceback is on stderr.
    """
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _PROGRAM, module, function, *arguments]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)
