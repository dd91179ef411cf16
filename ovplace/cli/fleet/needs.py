"""What the commands of a fleet need."""

from __future__ import annotations

import click

from ovplace.errors import UsageError

room = click.option(
    "--room",
    "room_gib",
    type=click.FloatRange(0, min_open=True),
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
