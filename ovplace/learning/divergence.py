"""The error of a policy whose weights or probabilities have overflowed, mostly by too long steps."""

from __future__ import annotations

from ovplace.errors import UsageError


def diverged() -> UsageError:
    """Return the error."""
    return UsageError(
        "the policy has diverged: its weights or probabilities are not finite numbers; lower placer.learning_rate"
    )
