"""Ablations that come with ovplace, found by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from ovplace.errors import UsageError
from ovplace.shipped import shipped, shipped_in

CONFIGS = "configs/ablations"


def ablation_names() -> list[str]:
    """Return the names of the ablations that come with ovplace."""
    return shipped_in(CONFIGS, ".toml")


def find_ablation(text: str) -> Path:
    """Return the file that `text` means: a path, or the name of one that comes with ovplace.

    Raises:
        UsageError: there is none.
    """
    if Path(text).is_file():
        return Path(text)
    name = Path(text).name.removesuffix(".toml")
    found = shipped(f"{CONFIGS}/{name}.toml") if text in (name, f"{CONFIGS}/{name}.toml") else None
    if found is None:
        near = difflib.get_close_matches(name, ablation_names(), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(
            f"there is no ablation '{text}'; {hint}give a .toml file, or one of: {', '.join(ablation_names())}"
        )
    return found
