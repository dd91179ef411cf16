"""Candidates compiled: placements and OpenVINO's own choices, as a whole, in parts, or stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import openvino as ov

from ovplace.backends.openvino.config import Config
from ovplace.core.measurement import Candidate, Job
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.submodels import running_submodels
from ovplace.ir.affinity import check_chain, compile_placed, op_names, submodel_chain
from ovplace.ir.inputs import Array
from ovplace.ir.parts.intermediate_tensors import IntermediateTensors
from ovplace.ir.parts.part import Part, devices_of, extract, whole
from ovplace.ir.read import op_graph
from ovplace.stages.chain import CompiledChain
from ovplace.stages.compiled_stages import CompiledStages
from ovplace.stages.compiler import Compiler
from ovplace.stages.stage import check_submodels, stages_of
from ovplace.store.blobs import Blobs

Compiled: TypeAlias = ov.CompiledModel | CompiledChain


class Candidates:
    """Compiles the candidates of one job."""

    def __init__(self, core: ov.Core, model: ov.Model, inputs: Sequence[Array], job: Job, config: Config) -> None:
        """Compile nothing yet.

        Args:
            core: the Core in which the job's devices are registered.
            model: the prepared model.
            inputs: its inputs.
            job: the model and its devices.
            config: limits of what is kept.
        """
        self._core, self._model, self._job = core, model, job
        self._graph = op_graph(model)
        self._devices = {device.name: device for device in job.devices}
        identity = [
            self._graph.content_hash,
            ov.get_version(),
            [device.to_dict() for device in job.devices if device.emulated],
        ]
        self._compiler = Compiler(core, Blobs(config.blobs_mib * 2**20), identity)
        self._stages = CompiledStages(self._compiler, self._cut, self._devices, config.stages_mib * 2**20)
        self._intermediate = IntermediateTensors(core, model, inputs)
        self._parts: dict[tuple[int, ...], Part | Exception] = {}  # of the present request

    def reference(self) -> ov.CompiledModel:
        """Return the whole model on the CPU in f32.

        Raises:
            RuntimeError: it does not compile.
        """
        return self._compiler.compile_reference(self._model)

    def cut_out(self, candidates: Sequence[Candidate]) -> None:
        """Cut out the parts that are asked for, and record what goes into them.

        Args:
            candidates: of the present request; parts of earlier ones are forgotten.
        """
        self._parts = {}
        for ops in {candidate.part for candidate in candidates if candidate.part}:
            try:
                self._parts[ops] = extract(self._model, ops)
            except (PlacementError, RuntimeError) as error:
                self._parts[ops] = error
        found = [part for part in self._parts.values() if not isinstance(part, Exception)]
        if found:
            self._intermediate.record(found)

    def tensors(self, candidate: Candidate) -> list[ov.Tensor]:
        """Return the value of each input of the part that a candidate is of."""
        return self._intermediate.tensors(self._cut(candidate.part), self._job.seed)

    def compiled(self, candidate: Candidate) -> Compiled:
        """Return a candidate compiled, or wired from compiled stages.

        Raises:
            PlacementError: it does not fit the model.
            RuntimeError: it does not compile.
        """
        placement = candidate.placement
        if placement is None:
            return self._compiler.compile_automatic(self._model, candidate.target, self._job.devices)
        on_part = self._on_part(candidate)
        if on_part.is_uniform and not candidate.part:
            return self._compiler.compile(self._model, [], self._devices[on_part.used[0]])
        if candidate.staged or on_part.is_uniform:
            return self._in_stages(candidate, placement)
        if candidate.part:
            return self._part_by_hetero(candidate, placement)
        check_submodels(self._graph, running_submodels(self._graph, placement.device_of))
        return self._compiler.compile_placement(self._model, placement, self._devices)

    def submodels(self, candidate: Candidate, compiled: Compiled) -> tuple[str, ...]:
        """Return the device of each submodel that really runs, in running order.

        Args:
            candidate: what was compiled.
            compiled: it compiled.

        Raises:
            PlacementError: it runs on other devices than was asked for.
        """
        if isinstance(compiled, CompiledChain):
            return compiled.devices
        if candidate.placement is None:
            # The GPU plugin answers automatic mode as `GPU.0` even where there is but one `GPU`.
            chain = submodel_chain(compiled) if candidate.target.startswith("HETERO") else ()
            return tuple(name if name in self._devices else name.removesuffix(".0") for name in chain)
        placement = self._on_part(candidate)
        if placement.is_uniform:
            return placement.used
        chain = submodel_chain(compiled)
        check_chain(placement, chain)
        return chain

    def _in_stages(self, candidate: Candidate, placement: Placement) -> Compiled:
        stages = stages_of(self._graph, placement, candidate.part)
        compiled = [self._stages.get(stage) for stage in stages]
        if self._on_part(candidate).is_uniform:
            return compiled[0].compiled
        return CompiledChain(compiled, self._cut(candidate.part) if candidate.part else whole(self._model))

    def _part_by_hetero(self, candidate: Candidate, placement: Placement) -> ov.CompiledModel:
        part, names = self._cut(candidate.part).model, op_names(self._model)
        table = {names[i]: placement.devices[placement.device_of[i]] for i in candidate.part}
        return compile_placed(self._core, part, devices_of(part, table))

    def _cut(self, ops: tuple[int, ...]) -> Part:
        """Return operations as a part; those that are asked for were cut out before."""
        part = self._parts.get(ops)
        if isinstance(part, Exception):
            raise part
        return part or extract(self._model, ops)

    def _on_part(self, candidate: Candidate) -> Placement:
        """Return the placement of the operations that run."""
        placement = candidate.placement
        assert placement is not None
        self._check(placement)
        return Placement(placement.device_of[list(candidate.part)], placement.devices) if candidate.part else placement

    def _check(self, placement: Placement) -> None:
        if len(placement.device_of) != len(self._graph):
            raise PlacementError(
                f"the placement has {len(placement.device_of)} operations, the model {len(self._graph)}"
            )
