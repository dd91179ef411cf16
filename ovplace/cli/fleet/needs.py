"""What the commands of a fleet need."""

from __future__ import annotations

from math import isfinite
from typing import Any

import click

from ovplace.errors import UsageError


class _Gib(click.FloatRange):
    """A finite number of GiB above 0."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a number of GiB; write one such as 20", param, ctx)
        return number


room = click.option(
    "--room",
    "room_gib",
    type=_Gib(),
    default=20,
    metavar="GIB",
    show_default=True,
    help="Disk space for models in the cache folder, in GiB; those unused for longest are deleted.",
)


def require_distributed() -> None:
    """Check that the extra of a fleet is installed.

    Raises:
        UsageError: it is not.
    """
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError:
        raise UsageError("a fleet needs Dask's distributed; pip install 'ovplace[cluster]'") from None
