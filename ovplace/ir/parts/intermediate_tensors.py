"""Intermediate tensors of a model, so that its parts are timed on the data they get in a whole inference.

Latency depends on the data: the CPU plugin's sin takes three times as long at scale 1 as at scale 0.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import openvino as ov

from ovplace.ir.inputs import Array, as_tensor, random_inputs
from ovplace.ir.parts.part import Feed, Part, recorder
from ovplace.ir.tensors import output_bytes

LIMIT_BYTES = 512 * 2**20
"""Tensors kept, at most; what is beyond is fed with random numbers."""


class IntermediateTensors:
    """Intermediate tensors of one inference on the CPU in f32, recorded on demand."""

    def __init__(self, core: ov.Core, model: ov.Model, inputs: Sequence[Array], limit_bytes: int = LIMIT_BYTES) -> None:
        """Remember the model with its inputs; nothing is compiled yet.

        Args:
            core: reads, compiles and runs.
            model: the whole model.
            inputs: value of each of its inputs, in their order.
            limit_bytes: tensors kept, at most.
        """
        self._core, self._model, self._limit = core, model, limit_bytes
        self._inputs = [as_tensor(port, array) for port, array in zip(model.inputs, inputs, strict=True)]
        self._own = {
            Feed(port.get_node().get_friendly_name(), 0): tensor
            for port, tensor in zip(model.inputs, self._inputs, strict=True)
        }
        self._recorded: dict[Feed, ov.Tensor] = {}

    def record(self, parts: Sequence[Part]) -> None:
        """Run the whole model once and keep what `parts` need; nothing happens where that is there already."""
        pairs = (pair for part in parts for pair in zip(part.feeds, part.model.inputs, strict=True))
        wanted = {feed: output_bytes(port) for feed, port in pairs}
        missing = [feed for feed in wanted if feed not in self._own and feed not in self._recorded]
        if not missing:
            return
        used = sum(tensor.get_byte_size() for tensor in self._recorded.values())
        if used + sum(wanted[feed] for feed in missing) > self._limit:
            self._recorded.clear()
            missing = self._fitting({feed: n for feed, n in wanted.items() if feed not in self._own})
        self._run(missing)

    def tensors(self, part: Part, seed: int) -> list[ov.Tensor]:
        """Return the value of each input of a part, `[I]`; a random one where there was no room for the true one.

        Args:
            part: the part to be run, with I inputs.
            seed: root seed of the random values.
        """
        known = self._own | self._recorded
        if all(feed in known for feed in part.feeds):
            return [known[feed] for feed in part.feeds]
        made = zip(part.feeds, part.model.inputs, random_inputs(part.model, seed), strict=True)
        return [known[feed] if feed in known else as_tensor(port, array) for feed, port, array in made]

    def _fitting(self, wanted: dict[Feed, int]) -> list[Feed]:
        """Return as many feeds as there is room for, the smallest first."""
        kept, used = [], 0
        for feed in sorted(wanted, key=lambda f: wanted[f]):
            used += wanted[feed]
            if used > self._limit:
                break
            kept.append(feed)
        return kept

    def _run(self, feeds: Sequence[Feed]) -> None:
        model = recorder(self._model, feeds)
        request = self._core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
        for i, tensor in enumerate(self._inputs):
            request.set_input_tensor(i, tensor)
        request.infer()
        for i, feed in enumerate(feeds, start=len(self._model.outputs)):
            output = request.get_output_tensor(i)
            kept = ov.Tensor(output.get_element_type(), output.get_shape())
            output.copy_to(kept)
            self._recorded[feed] = kept
