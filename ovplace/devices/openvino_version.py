"""Whether OpenVINO is as new as ovplace needs: an older one may come first, such as that of a `setupvars.sh`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

LEAST = (2026, 4)
"""The oldest OpenVINO that pip installs with ovplace (`pyproject.toml`).

Until 2026.2, HETERO cut models into other submodels: `tests/graphs/test_submodels.py` fails with 2026.2.1 and 2025.4.1,
and passes with 2026.3.1. With 2026.3.1, a HETERO model that is imported is compiled anew (`tests/stages`).
"""


def old_version(version: str) -> str:
    """Return the number of a version that is older than `LEAST`, such as `2025.4.1`; empty for any other text.

    Args:
        version: as `openvino.get_version()` returns it, such as `2025.4.1-20426-82bbf0292c5-releases/2025/4`.
    """
    number = re.match(r"(\d+)\.(\d+)[.\d]*", version)
    return number[0] if number and (int(number[1]), int(number[2])) < LEAST else ""


def version_notes(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return what to say of measurements with an OpenVINO that is too old.

    Args:
        facts: the backend's facts.
    """
    if not (number := old_version(facts.get("openvino", ""))):
        return ()
    least = ".".join(map(str, LEAST))
    return (
        f"OpenVINO {number} is older than {least}, which ovplace is made for: its HETERO may divide models otherwise "
        "than ovplace predicts, and more placements may fail; 'ovplace doctor' says how to use a newer one",
    )


def remedy(package: Path, environment: Mapping[str, str] = os.environ) -> str:
    """Return the command that replaces an OpenVINO that is too old.

    Args:
        package: folder of the Python package that is imported.
        environment: the variables of this process.
    """
    first = (Path(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry)
    if any(package.parent == entry.absolute() for entry in first):
        return "unset PYTHONPATH    # it names this OpenVINO, as its setupvars.sh does"
    return f"pip install --upgrade 'openvino>={'.'.join(map(str, LEAST))}'"
