"""The main program of the process of one cell: `python -m ovplace.experiments`.

The first line of standard input says what to do. The process ends when that is done, or when standard input closes,
which means that the parent is gone.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any


def main() -> int:
    """Do the task of one cell; return the exit code. Errors are one line on standard error."""
    # Not `sys.stdin`: a thread that waits in it makes the interpreter abort when it ends.
    requests = open(0, "rb", closefd=False)  # noqa: SIM115 - a descriptor, open to the end
    order = json.loads(requests.readline())
    threading.Thread(target=_end_with_parent, args=(requests,), daemon=True).start()
    from ovplace.errors import OvplaceError

    try:
        _work(order)
    except OvplaceError as error:
        print(" ".join(str(error).split()), file=sys.stderr)  # noqa: T201 - read by the parent
        return error.exit_code
    return 0


def _end_with_parent(requests: IO[bytes]) -> None:
    requests.read()
    os._exit(1)


def _work(order: Mapping[str, Any]) -> None:
    import importlib
    import tomllib

    from ovplace.config import toml

    module, _, name = order["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    function(toml.build_config(tomllib.loads(order["config"])), Path(order["folder"]), order["options"])


if __name__ == "__main__":
    sys.exit(main())
