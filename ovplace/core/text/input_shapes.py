"""Static shapes of inputs as the text that users write: benchmark_app's `-shape` syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ovplace.errors import UsageError

if TYPE_CHECKING:
    from ovplace.graphs.op_graph import Shape

_EXAMPLE = "write it as data[1,3,224,224],mask[1,8] or, for a single input, [1,3,224,224]"
_ITEM = re.compile(r'\s*+(?:"((?:[^"]|"")*+)"\s*+|(|[^"].*?))\[([^\[\]]*)\]\s*+(,|\Z)', re.DOTALL)
"""A name, in quotes or not, the last brackets before a comma or the end, and the comma."""


def parse_shapes(text: str) -> dict[str, Shape]:
    """Return {input name: shape} from benchmark_app's `-shape` syntax, restricted to static shapes.

    The shape of an item is in its last brackets, so names may have brackets and commas: `y[0][1,8],z[1]`. Where that
    would be misread, as in `a[0],b`, a name stands in quotes, and quotes in it are doubled: `"a[0],b"[1,8]`.

    Args:
        text: such as `data[1,3,224,224],mask[1,8]`; a shape without a name has the key `""` and is for every input.

    Raises:
        UsageError: the text is not in that syntax, or a dimension is not a fixed number.
    """
    shapes: dict[str, Shape] = {}
    position = 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None or (item[4] and item.end() == len(text)):
            raise UsageError(f"--shape '{text}' is not understood from '{text[position:]}' on; {_EXAMPLE}")
        name = item[2].strip() if item[1] is None else item[1].replace('""', '"')
        if name in shapes:
            raise UsageError(f"--shape '{text}' gives {named(name)} twice; give one shape for each input")
        shapes[name] = tuple(_dimension(d, text) for d in item[3].split(",")) if item[3].strip() else ()
        position = item.end()
    if "" in shapes and len(shapes) > 1:
        raise UsageError(f"--shape '{text}' mixes shapes with and without input names; {_EXAMPLE}")
    return shapes


def shape_item(name: str, dimensions: Iterable[object]) -> str:
    """Return an input's name and shape as `parse_shapes` reads them, the name in quotes where it must be.

    Args:
        name: the name; empty for the only input.
        dimensions: numbers, or texts that stand for some.
    """
    plain = _ITEM.match(f"{name}[]")
    written = name if plain and plain[2] == name == name.strip() else '"{}"'.format(name.replace('"', '""'))
    return f"{written}[{','.join(map(str, dimensions))}]"


def named(name: str) -> str:
    """Return an input as messages call it."""
    return f"input '{name}'" if name else "the only input"


def _dimension(text: str, whole: str) -> int:
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    why = "must be a fixed number from 0 to 999999999 (no ?, -1, ranges): placements are measured at one shape"
    raise UsageError(f"dimension '{text}' in --shape '{whole}' {why}")
