"""The files of `suites/`: a grid as `ovplace ablate` takes it, with two more sections.

[suite]     fields of `Suite`
[short]     models, machines, seeds and variants of a small part of it, `set` with `section.key=value` texts, and fields
            of `Suite` that differ there
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ovplace.errors import ConfigError

FOLDER = Path(__file__).parents[1] / "suites"
_AXES = ("models", "machines", "seeds")


@dataclass(frozen=True)
class Suite:
    """The `[suite]` section.

    Attributes:
        title: of the tables.
        note: what their reader must know.
        task: `search` in this process on a simulated machine; the same with `wrong_costs` or `failing_choices`; `run`
            for whole runs as `ovplace optimize` makes them.
        budgets: numbers of measurements after which searches are compared.
        from_reference: count the fastest single device as measured before the search, as it is in a run.
        last: whether to tell the median latency of the last episode, which the policy has become.
        controls: by variant, the variant that it is compared with.
        control_note: what controls are, and what an interval on one side of 1 says.
        comparisons: final comparisons to make after each search, each with noise of its own.
        time_limit_s: seconds of each mixed-integer program.
        spread: `wrong_costs`: of the log-normal factors on the costs.
        failing: `failing_choices`: groups that fail.
    """

    title: str
    note: str = ""
    task: str = "search"
    budgets: tuple[int, ...] = (20, 100, 500, 2000)
    from_reference: bool = False
    last: bool = False
    controls: Mapping[str, str] = field(default_factory=dict)
    control_note: str = (
        "A control has the same policy with learning rate 0: an interval below 1 says that something was learned."
    )
    comparisons: int = 0
    time_limit_s: float = 60.0
    spread: float = 0.5
    failing: int = 3


def suite_files() -> dict[str, Path]:
    """Return the files of all suites, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def title(file: Path) -> str:
    """Return the title of a suite."""
    return str(tomllib.loads(file.read_text(encoding="utf-8"))["suite"]["title"])


def read_suite(file: Path, short: bool) -> tuple[Suite, dict[str, Any], list[str]]:
    """Read a suite.

    Args:
        file: its TOML file.
        short: whether only the part of `[short]` is wanted.

    Returns:
        The suite, the sections of its grid, and `section.key=value` texts to be put over the base.

    Raises:
        ConfigError: the file is not understood.
    """
    from ovplace.config import toml
    from ovplace.core.build_dataclass import build_dataclass

    tables: dict[str, Any] = dict(toml.read(file))
    suite, small = dict(tables.pop("suite", {})), dict(tables.pop("short", {}))
    if not suite or not small:
        raise ConfigError(f"'{file}' needs the sections [suite] and [short]")
    changes: list[str] = []
    if short:
        changes = small.pop("set", [])
        tables = _smaller(tables, small)
        suite |= {name: value for name, value in small.items() if name not in (*_AXES, "variants")}
    found: Suite = build_dataclass(Suite, suite, "suite")
    return found, tables, changes


def as_data(suite: Suite) -> dict[str, object]:
    """Return a suite as plain data."""
    return dataclasses.asdict(suite) | {"budgets": list(suite.budgets)}


def _smaller(tables: Mapping[str, Any], small: Mapping[str, Any]) -> dict[str, Any]:
    axes = {key: value for key, value in tables["ablation"].items() if key != "places"}
    axes |= {key: small[key] for key in _AXES if key in small}
    kept = {name: table for name, table in tables.get("variants", {}).items() if name in small.get("variants", ())}
    return {**tables, "ablation": axes, "variants": kept}
