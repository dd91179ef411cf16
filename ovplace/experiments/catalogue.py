"""Ablations that come with ovplace, found by name."""

from __future__ import annotations

from pathlib import Path

from ovplace.config.files import find_toml
from ovplace.shipped import shipped_in

CONFIGS = "configs/ablations"


def ablation_names() -> list[str]:
    """Return the names of the ablations that come with ovplace."""
    return shipped_in(CONFIGS, ".toml")


def find_ablation(text: str) -> Path:
    """Return the file that `text` means: a path, or the name of one that comes with ovplace.

    Raises:
        UsageError: there is none.
    """
    return find_toml(text, CONFIGS, "ablation")
