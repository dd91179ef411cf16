"""What the commands of a fleet need."""

from __future__ import annotations

from ovplace.errors import UsageError


def require_distributed() -> None:
    """Check that the extra of a fleet is installed.

    Raises:
        UsageError: it is not.
    """
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError:
        raise UsageError("a fleet needs Dask's distributed; pip install 'ovplace[cluster]'") from None
