"""A piece of the link model as data: a module of its own, because its readers must not import openvino."""

from __future__ import annotations

from dataclasses import dataclass

STAGES = 4


@dataclass(frozen=True)
class Piece:
    """One piece of the model.

    Attributes:
        tensor_bytes: size of each tensor in it.
        branches: tensors that pass from stage 1 to stage 2.
        stages: operations of each stage, `[4]`; Parameter and Result are with the stage they belong to.
    """

    tensor_bytes: int
    branches: int
    stages: tuple[tuple[int, ...], ...]
