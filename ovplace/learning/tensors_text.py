"""Tensors as text for a placer's saved state: a line of JSON and the numbers as they are, in base64. No pickle."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ovplace.core.text.json_text import parse_json
from ovplace.errors import StoreError

VERSION = 1
_NUMBER = re.compile(r"[<>|=][fiub][1248]")


def tensors_to_text(tensors: Mapping[str, torch.Tensor], about: object = None) -> str:
    """Return tensors as text.

    Args:
        tensors: by name.
        about: goes with them; what JSON can hold.
    """
    arrays = {name: np.ascontiguousarray(tensor.detach().cpu().numpy()) for name, tensor in tensors.items()}
    shapes = [[name, array.dtype.str, tensors[name].shape] for name, array in arrays.items()]
    head = json.dumps({"version": VERSION, "tensors": shapes, "about": about}).encode()
    return base64.b64encode(b"\n".join([head, b"".join(array.tobytes() for array in arrays.values())])).decode("ascii")


def tensors_from_text(text: str) -> tuple[dict[str, torch.Tensor], Any]:
    """Return the tensors that `tensors_to_text` wrote, and what went with them.

    Raises:
        StoreError: the text is damaged, or of another version.
    """
    try:
        head, _, data = base64.b64decode(text, validate=True).partition(b"\n")
        found = parse_json(head)
        if found["version"] != VERSION:
            raise ValueError(f"version {found['version']}")
        tensors, start = {}, 0
        for name, kind, shape in found["tensors"]:
            array = np.empty(shape, _number(kind)) if 0 in shape else _array(data, start, shape, _number(kind))
            tensors[name], start = torch.from_numpy(array.copy()), start + array.nbytes
        return tensors, found["about"]
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise StoreError(
            f"the weights of this run cannot be read ({error}): they are damaged, or of another version of ovplace; "
            "start a new run in another folder with -o"
        ) from error


def _number(kind: object) -> np.dtype[Any]:
    if not _NUMBER.fullmatch(str(kind)):  # NumPy would read a text of several types by Python's own parser
        raise ValueError(f"'{kind}' is no type of numbers")
    return np.dtype(str(kind))


def _array(data: bytes, start: int, shape: list[int], kind: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    count = int(np.prod(shape, dtype=object))
    return np.frombuffer(data, kind, count, start).reshape(shape)
