"""The main program of the process of one run: `python -m ovplace.experiments.__main__`.

The first line of standard input says what to run. The process ends when the run is done, or when standard input closes:
then nobody waits for it any more.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import IO


def main() -> int:
    """Run, or continue, one search and score it; return the exit code. Errors are one line on standard error."""
    # Not `sys.stdin`: a thread that waits in it makes the interpreter abort when it ends.
    requests = open(0, "rb", closefd=False)  # noqa: SIM115 - a descriptor, open to the end
    order = json.loads(requests.readline())
    threading.Thread(target=_end_with_parent, args=(requests,), daemon=True).start()
    from ovplace.errors import OvplaceError

    try:
        _run(Path(order["folder"]), order["config"])
    except OvplaceError as error:
        print(" ".join(str(error).split()), file=sys.stderr)  # noqa: T201 - read by the parent
        return error.exit_code
    return 0


def _end_with_parent(requests: IO[bytes]) -> None:
    requests.read()
    os._exit(1)


def _run(folder: Path, text: str) -> None:
    import tomllib

    from ovplace.config import toml
    from ovplace.experiments import score
    from ovplace.search.run import run

    # A finished run that goes on with a larger budget is not finished until it is scored anew.
    (folder / score.FILE).unlink(missing_ok=True)
    run(toml.build(tomllib.loads(text)), folder, command="ovplace ablate")
    score.score(folder)


if __name__ == "__main__":
    sys.exit(main())
