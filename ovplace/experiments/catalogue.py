"""Ablations that come with ovplace, found by name."""

from __future__ import annotations

from pathlib import Path

from ovplace.config.files import find_toml

CONFIGS = "configs/ablations"


def find_ablation(text: str) -> Path:
    """Return the file that `text` means: a path, or the name of one that comes with ovplace.

    Raises:
        UsageError: there is none.
    """
    return find_toml(text, CONFIGS, "ablation")
