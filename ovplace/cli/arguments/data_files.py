"""Files that options name: the user's, or those that come with ovplace."""

from __future__ import annotations

from pathlib import Path

from ovplace.shipped import shipped


def config_path(text: str | None) -> Path | None:
    """Return the file that `--config` means: a path, or the name of one in `configs/`."""
    if text is None:
        return None
    own = None if Path(text).exists() else shipped(f"configs/{text.removesuffix('.toml')}.toml")
    return own or Path(text)
