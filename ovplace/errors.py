"""Every error that ovplace raises on purpose, as one tree.

    OvplaceError              exit 1
    |-- UsageError            exit 2   the command line or the arguments of a call are wrong
    |   |-- ConfigError                a configuration key or value is not understood
    |   `-- DivergedError              a policy has diverged
    |-- ModelError                     a model cannot be read, prepared or run
    |-- DeviceError                    a device is unknown, missing or unusable
    |-- PlacementError                 a placement does not fit the model or the machine
    |-- BackendError                   the measuring process cannot be started or kept alive
    |-- StoreError                     a run folder cannot be read or written
    |   `-- InUseError                 another process is writing it
    |-- NotReachedError       exit 3   finished, without what was required
    `-- InterruptedRunError   exit 130 stopped by the user, everything measured is saved

The text of each says what happened, the value seen, and what to do next, in one line.

Example:
    >>> import ovplace
    >>> try:
    ...     run = ovplace.optimize("absent.onnx")
    ... except ovplace.errors.ModelError as error:
    ...     print(error)
    the model 'absent.onnx' does not exist; check the path
"""

from __future__ import annotations

from typing import Any

_DIVERGED = "the policy has diverged: its weights or probabilities are not finite numbers; lower placer.learning_rate"


class OvplaceError(Exception):
    """Base of all errors that ovplace raises on purpose; `exit_code` is the process exit status."""

    exit_code = 1


class UsageError(OvplaceError):
    """The command line or the arguments of a call are wrong."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration key or value is not understood; the text names its place."""


class DivergedError(UsageError):
    """A policy has diverged, mostly because of too large a learning rate; a search ends with what it has measured."""

    def __init__(self, text: str = _DIVERGED) -> None:
        """Say what to change.

        Args:
            text: what happened, and what to do.
        """
        super().__init__(text)


class ModelError(OvplaceError):
    """A model cannot be read, prepared or run."""


class DeviceError(OvplaceError):
    """A device is unknown, missing or unusable."""


class PlacementError(OvplaceError):
    """A placement does not fit the model, the version or the machine."""


class BackendError(OvplaceError):
    """The measuring process cannot be started or kept alive."""


class StoreError(OvplaceError):
    """A run folder cannot be read or written."""


class InUseError(StoreError):
    """Another process is working on the same run folder or policy; the text names it."""


class NotReachedError(OvplaceError):
    """Finished, but a requirement is not met: a gain, or an answer that still holds; `result` is the `Run`, if any."""

    exit_code = 3

    def __init__(self, text: str, result: Any = None) -> None:
        """Keep the result of the finished run with the text.

        Args:
            text: what was required and what was found.
            result: the `Run`; None where nothing was searched.
        """
        super().__init__(text)
        self.result = result


class ReportWarning(RuntimeWarning):
    """A run is finished, and its report could not be written."""


class ExportWarning(UserWarning):
    """A format does not carry all of the placement that was exported."""


class InterruptedRunError(OvplaceError):
    """The user stopped the run; what was measured is saved and the same folder continues."""

    exit_code = 130
