"""Compiled stages, kept in memory for the placements that share them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import openvino as ov

from ovplace.core.device import Device
from ovplace.graphs.op_kinds import RANDOM
from ovplace.ir.bodies import all_models
from ovplace.ir.parts.part import Part
from ovplace.ir.tensors import output_bytes
from ovplace.stages.compiler import Compiler
from ovplace.stages.stage import Stage

Cut = Callable[[tuple[int, ...]], Part]

COMPILED_BYTES = 2 * 2**20
"""Size of a compiled model beside its tensors: the CPU plugin takes 1 to 2 MiB."""

LEAKED_BYTES = 8 * 2**20
"""Memory that each compilation for the emulated GPU takes for good, at least: 8 to 11 MiB from stored kernels, 50 MiB
where the kernels are new. To release a small stage and to compile it again takes more memory than to keep it."""

_HELD = ("Constant", "Parameter", "Result")
"""Operations whose tensors a compiled model holds as long as it is there."""

_REUSED = 2
"""Tensors between operations that are counted, the largest ones, for the input and the output of one operation: plugins
use the memory again. Stages on the CPU hold a quarter of the size of all tensors on *demo* and *hyperbolic*."""


@dataclass(frozen=True, eq=False)
class CompiledStage:
    """A stage ready to make requests.

    Attributes:
        stage: its operations and their device.
        part: it as a model of its own.
        compiled: that model on the device.
        n_bytes: about how much memory its release gives back, less what compiling it again takes for good.
    """

    stage: Stage
    part: Part
    compiled: ov.CompiledModel
    n_bytes: int


class CompiledStages:
    """The compiled stages of one model; beyond a limit of memory, the least recently used ones are released."""

    def __init__(self, compiler: Compiler, cut: Cut, devices: Mapping[str, Device], limit_bytes: int) -> None:
        """Start with none.

        Args:
            compiler: compiles what is not kept.
            cut: returns operations of the model, by their indices, as a part.
            devices: the devices of the job, by name.
            limit_bytes: memory that kept stages may hold.
        """
        self._compiler, self._cut, self._devices, self._limit = compiler, cut, devices, limit_bytes
        self._kept: OrderedDict[Stage, CompiledStage] = OrderedDict()

    def get(self, stage: Stage) -> CompiledStage:
        """Return a stage compiled.

        Raises:
            PlacementError: it is not a part of the model that can be compiled alone.
            RuntimeError: the device does not compile it.
        """
        if stage in self._kept:
            self._kept.move_to_end(stage)
            return self._kept[stage]
        compiled = self._compiled(stage)
        if not _draws(compiled.part.model):
            self._kept[stage] = compiled
            self._release(stage)
        return compiled

    def _compiled(self, stage: Stage) -> CompiledStage:
        part = self._cut(stage.ops)
        device = self._devices[stage.device]
        compiled = self._compiler.compile(part.model, stage.ops, device)
        beside = -LEAKED_BYTES if device.emulated else COMPILED_BYTES
        return CompiledStage(stage, part, compiled, max(0, _tensor_bytes(part.model) + beside))

    def _release(self, newest: Stage) -> None:
        total = sum(kept.n_bytes for kept in self._kept.values())
        for stage in [stage for stage, kept in self._kept.items() if kept.n_bytes]:  # others would give nothing back
            if total <= self._limit or stage == newest:
                return
            total -= self._kept.pop(stage).n_bytes


def _draws(part: ov.Model) -> bool:
    """Return whether a part draws random numbers: compiled once, it would go on with those of the placement before."""
    return any(op.get_type_name() in RANDOM for model in all_models(part) for op in model.get_ops())


def _tensor_bytes(part: ov.Model) -> int:
    """Return about how much memory the tensors of a compiled part take: weights, what goes in and out, and between."""
    sizes = [(op.get_type_name() in _HELD, output_bytes(port)) for op in part.get_ops() for port in op.outputs()]
    between = sorted(size for is_held, size in sizes if not is_held)
    return sum(size for is_held, size in sizes if is_held) + sum(between[-_REUSED:])
