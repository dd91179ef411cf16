"""Stages that run one after the other, as HETERO runs its submodels.

Each tensor between stages is ordinary memory of the host, output of one stage and input of the next ones: HETERO wires
its requests the same way (openvino `src/plugins/hetero/src/sync_infer_request.cpp`). The GPU plugin's own output
tensors would save copies, and stages would be faster than the placement is by HETERO.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import openvino as ov

from ovplace.errors import PlacementError
from ovplace.ir.affinity import property_values
from ovplace.ir.parts.part import Feed, Part, constant_outputs
from ovplace.stages.compiled_stages import CompiledStage


class CompiledChain:
    """A placement, or a part of one, as compiled stages; used like an `openvino.CompiledModel`.

    Attributes:
        devices: the device of each stage, in running order.
    """

    def __init__(self, stages: Sequence[CompiledStage], whole: Part) -> None:
        """Put the stages in a row.

        Args:
            stages: in running order.
            whole: what they are the stages of.
        """
        self.devices = tuple(stage.stage.device for stage in stages)
        self._stages, self._whole = stages, whole

    def create_infer_request(self) -> Chain:
        """Return requests of all stages, wired.

        Raises:
            PlacementError: a stage reads, or the whole returns, what no stage computes.
        """
        return Chain(self._stages, self._whole.feeds, self._whole.yields, constant_outputs(self._whole))

    def get_property(self, name: str) -> list[str]:
        """Return the values of a property of all stages, each once."""
        return list(dict.fromkeys(value for stage in self._stages for value in property_values(stage.compiled, name)))


class Chain:
    """Requests in a row; used like an `openvino.InferRequest`.

    Attributes:
        last_ms: latency of each stage in the last inference, ms `[S]`.
    """

    def __init__(
        self,
        stages: Sequence[CompiledStage],
        inputs: Sequence[Feed],
        outputs: Sequence[Feed],
        constants: Mapping[Feed, ov.Tensor],
    ) -> None:
        """Make the requests and wire them.

        Args:
            stages: in running order.
            inputs: the tensors that go into the whole.
            outputs: which tensor each output of the whole is.
            constants: the values of those that are Constants: a Constant with its Results is no stage.

        Raises:
            PlacementError: a stage reads, or the whole returns, what no stage computes.
        """
        self.last_ms: tuple[float, ...] = ()
        self._requests = [stage.compiled.create_infer_request() for stage in stages]
        self._entries: list[list[tuple[ov.InferRequest, int]]] = [[] for _ in inputs]
        known: dict[Feed, ov.Tensor] = dict(constants)
        handed_over = {feed for stage in stages for feed in stage.part.feeds}
        for stage, request in zip(stages, self._requests, strict=True):
            for i, feed in enumerate(stage.part.feeds):
                if feed in inputs and feed not in known:
                    self._entries[inputs.index(feed)].append((request, i))
                else:
                    request.set_input_tensor(i, _found(known, feed))
            for i, feed in enumerate(stage.part.yields):
                if feed in handed_over:
                    own = request.get_output_tensor(i)
                    request.set_output_tensor(i, ov.Tensor(own.element_type, own.shape))
                known[feed] = request.get_output_tensor(i)
        self._outputs = [_found(known, feed) for feed in outputs]

    @property
    def model_outputs(self) -> Sequence[ov.Tensor]:
        """The outputs of the whole."""
        return self._outputs

    def set_input_tensor(self, index: int, tensor: ov.Tensor) -> None:
        """Give the whole an input.

        Args:
            index: number of the input.
            tensor: its value.
        """
        for request, i in self._entries[index]:
            request.set_input_tensor(i, tensor)

    def get_output_tensor(self, index: int) -> ov.Tensor:
        """Return an output of the whole, as the last inference left it."""
        return self._outputs[index]

    def infer(self, *, share_outputs: bool = False) -> None:
        """Run all stages once, and time each.

        Args:
            share_outputs: do not copy what each stage computes into new arrays, which `infer` of `InferRequest` does
                by default.
        """
        for request in self._requests:
            request.infer(share_outputs=share_outputs)
        self.last_ms = tuple(request.latency for request in self._requests)

    @property
    def latency(self) -> float:
        """Latency of the last inference in ms: that of its stages, without the interpreter's time between them."""
        return sum(self.last_ms)

    def query_state(self) -> list[ov.VariableState]:
        """Return the states of all stages."""
        return [state for request in self._requests for state in request.query_state()]


def _found(known: dict[Feed, ov.Tensor], feed: Feed) -> ov.Tensor:
    if feed not in known:
        raise PlacementError(f"no stage before it computes output {feed.port} of operation '{feed.op}'")
    return known[feed]
