"""What `--config` and `--profile` name: files of the user, or those that come with ovplace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ovplace.errors import UsageError
from ovplace.shipped import shipped

SIMULATE = "simulate"
"""The backend that `--profile` implies."""


def config_path(text: str | None) -> Path | None:
    """Return what `--config` means: a file, or the name of one in `configs/`."""
    if text is None:
        return None
    own = None if Path(text).exists() else shipped(f"configs/{text.removesuffix('.toml')}.toml")
    return own or Path(text)


def profiled(settings: tuple[str, ...], search: dict[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return `--set` texts and options in which `--profile` is what it stands for: a backend and its machine.

    Raises:
        UsageError: another backend is asked for at the same time.
    """
    rest = {key: value for key, value in search.items() if key != "profile"}
    profile = search.get("profile")
    if profile is None:
        return settings, rest
    if rest.get("backend") not in (None, SIMULATE):
        raise UsageError(
            f"--profile is of a simulated machine, --backend is '{rest['backend']}'; leave one of them out"
        )
    return (*settings, f"backend.machine={profile}"), rest | {"backend": SIMULATE}
