"""The state of a model (ReadValue, Assign) between the inferences of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import openvino as ov


class HasState(Protocol):
    """A request of OpenVINO, or what stands for one."""

    def query_state(self) -> Sequence[ov.VariableState]:
        """Return the states, one for each variable."""


def reset_state(request: HasState) -> None:
    """Let the next inference begin with the first state."""
    for state in request.query_state():
        state.reset()


def fits_next_state(request: ov.InferRequest) -> bool:
    """Return whether the inputs of a request fit the state that its last inference left, by inferring once more.

    A mask may be as long as the first prompt. A compiled model that has failed fails after a reset, too (2026.4.1).
    """
    try:
        request.infer()
    except RuntimeError:
        return False
    return True
