"""Names that are the same whenever a file is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import count

import openvino as ov


def counted(model: ov.Model, again: ov.Model) -> set[int]:
    """Return the positions of operations whose names come from a process-wide counter, in `get_ordered_ops()`.

    Frontends name helper operations `Type_<counter>`, or after another operation so named; the counter never
    repeats, so these are the names in which two reads of one file differ.

    Args:
        model: the model as read.
        again: the same file, read once more in the same process.
    """
    first, second = model.get_ordered_ops(), again.get_ordered_ops()
    if [op.get_type_name() for op in first] != [op.get_type_name() for op in second]:
        return set(range(len(first)))
    pairs = zip(first, second, strict=True)
    return {i for i, (a, b) in enumerate(pairs) if a.get_friendly_name() != b.get_friendly_name()}


def stabilise(model: ov.Model, positions: Collection[int]) -> None:
    """Name the operations at `positions` of `get_ordered_ops()` by type and position, in place.

    Args:
        model: the model to rename in.
        positions: positions in `get_ordered_ops()`, from `counted`.
    """
    for i, op in enumerate(model.get_ordered_ops()):
        if i in positions:
            op.set_friendly_name(f"{op.get_type_name()}_{i}")


def make_unique(model: ov.Model) -> None:
    """Give every operation its own name, in place: the first of several keeps it, the others get a number."""
    ops = model.get_ordered_ops()
    taken = {op.get_friendly_name() for op in ops}
    seen: set[str] = set()
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))  # thousands may have one name
    for op in ops:
        name = op.get_friendly_name()
        if name in seen:
            name = next(free for number in numbers[name] if (free := f"{name}_{number}") not in taken)
            op.set_friendly_name(name)
            taken.add(name)
        seen.add(name)
