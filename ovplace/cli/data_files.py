"""Files that come with ovplace: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_ROOTS = (_PACKAGE / "share", _PACKAGE.parent)


def shipped(name: str) -> Path | None:
    """Return the file `name`, such as `models/demo.xml`, None if there is none."""
    return next((root / name for root in _ROOTS if (root / name).is_file()), None)


def config_path(text: str | None) -> Path | None:
    """Return what `--config` means: a file, or the name of one in `configs/`."""
    if text is None:
        return None
    own = None if Path(text).exists() else shipped(f"configs/{text.removesuffix('.toml')}.toml")
    return own or Path(text)
