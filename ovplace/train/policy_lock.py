"""The policy file that one training at a time writes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from ovplace.errors import UsageError
from ovplace.store.lock import locked
from ovplace.store.overwriting import check_keeps_runs


def training_of(output: Path) -> AbstractContextManager[None]:
    """Keep other trainings from a policy file while a block runs.

    Args:
        output: path of the policy file, which may be there already.

    Raises:
        UsageError: a policy cannot be written there: it is a folder, or belongs to a run.
        InUseError: another process trains it.
        StoreError: its folder cannot be written.
    """
    if output.is_dir():
        raise UsageError(f"the policy is a file, '{output}' is a folder; name a file with -o, such as 'policy.npz'")
    check_keeps_runs(output)
    lock = output.with_name(f"{output.name}.lock")
    return locked(lock, f"the policy '{output}' is being trained by", "wait for it, or choose another file with -o")
