"""What `--policy` stands for: the placer that a policy file is of, its node features, and the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SHIPPED_PLACER = "hsdag"
"""Whose policy `shipped` is where no placer is named."""


def with_policy(
    settings: tuple[str, ...], search: dict[str, Any], folder: Path
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return `--set` texts and options in which `--policy` is what it stands for.

    A run that has begun in `folder` goes on without the file: what it needs of it is in its own state.

    Raises:
        UsageError: the file is not there or not a policy, or of another placer than `--placer` says.
    """
    rest = {key: value for key, value in search.items() if key != "policy"}
    policy = search.get("policy")
    if policy is None:
        return settings, rest
    return (*settings, f"placer.policy={policy}"), rest | (_begun(policy, folder) or _read(policy, rest.get("placer")))


def _read(policy: str, placer: str | None) -> dict[str, Any]:
    from ovplace.learning.policy_file import SHIPPED, PolicyFile

    file = PolicyFile.read(policy, placer or (SHIPPED_PLACER if policy == SHIPPED else ""))
    return {"placer": file.placer} | ({"features": file.features} if file.features else {})


def _begun(policy: str, folder: Path) -> dict[str, Any]:
    """Return what the run in `folder` says, if it began with a file that is gone; else nothing."""
    from ovplace.config import toml
    from ovplace.store.run_folder import RunFolder

    if Path(policy).exists() or not RunFolder(folder).has_begun:
        return {}
    tables = toml.read(RunFolder(folder).config)
    if tables.get("placer", {}).get("policy") != policy:
        return {}
    return {key: value for key, value in tables.get("search", {}).items() if key in ("placer", "features")}
