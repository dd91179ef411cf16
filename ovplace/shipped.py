"""Files that come with ovplace: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_ROOTS = (_PACKAGE / "share", _PACKAGE.parent)


def shipped(name: str) -> Path | None:
    """Return the file `name`, such as `models/demo.xml`, None if there is none."""
    return next((root / name for root in _ROOTS if (root / name).is_file()), None)


def shipped_in(folder: str, suffix: str) -> list[str]:
    """Return the names, without `suffix`, of the files in a folder such as `configs/machines`, sorted.

    Args:
        folder: a folder such as `configs/machines`.
        suffix: such as `.toml`.
    """
    return sorted({path.name.removesuffix(suffix) for root in _ROOTS for path in (root / folder).glob(f"*{suffix}")})
