"""Options of the Python interface: those of the command line, under the same names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ovplace.config.duration import seconds
from ovplace.core.text.input_shapes import shape_item
from ovplace.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class MeasureOptions(TypedDict, total=False):
    """Keyword arguments of `ovplace.measure`; what is left out has the default of the command line.

    Attributes:
        device: devices: a list, or the string that `-d` takes.
        shape: static input shapes: a list for a single input, a mapping from input names to lists, or the string that
            `--shape` takes.
        input: an `.npz` file with one array for each input; or a single array, a list of arrays in the order of the
            inputs, or a mapping from their names to arrays. For a model file, arrays need names. Arrays may be torch
            tensors; they also give the shapes.
        seed: seed of all random numbers.
        backend: the backend that measures.
        machine: a simulated machine, by name or TOML file.
        emulate_gpu: True to use the emulated GPU, False never to use it; by default it is used if there is no GPU.
    """

    device: str | Sequence[str]
    shape: str | Sequence[int] | Mapping[str, Sequence[int]]
    input: str | Path | ArrayLike | Mapping[str, ArrayLike]
    seed: int
    backend: str
    machine: str | Path
    emulate_gpu: bool


class SearchOptions(MeasureOptions, total=False):
    """Further keyword arguments of `ovplace.optimize`.

    Attributes:
        placer: the search algorithm.
        policy: a policy file to start from, or `shipped`.
        coarsener: the coarsener, which groups the operations.
        features: names of the node features that a learned placer sees.
        budget: largest number of placements to measure; by default 60, or as many as `time` allows.
        time: time limit of the whole call: seconds, or a string such as `90s`, `10m`, `1h30m`.
        batch: number of placements that the placer proposes at a time.
        max_error: reject placements whose relative output error is larger.
        require_gain: raise `NotReachedError` unless a placement is faster than every baseline.
        stages: run the placements of the search submodel by submodel, where the backend can.
        cluster: scheduler of a fleet whose machines measure, as `tls://HOST:PORT`.
        early_exit: whether to skip the search where the profile proves that no split can help; True by default.
    """

    placer: str
    policy: str | Path
    coarsener: str
    features: Sequence[str]
    budget: int
    time: str | float
    batch: int
    max_error: float
    require_gain: bool
    cluster: str
    stages: bool
    early_exit: bool


def search_fields(options: Mapping[str, Any], known: Collection[str]) -> dict[str, object]:
    """Return options as fields of `SearchConfig`; those that are None are left out.

    Args:
        options: keyword arguments.
        known: the names that the function takes.

    Raises:
        UsageError: an option is unknown, or its value cannot be read.
    """
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(sorted(known))}"
            raise UsageError(f"unknown option '{name}'; {hint}")
    given = {name: _without_numpy(name, value) for name, value in options.items() if value is not None}
    if "time" in given:
        given["time_s"] = seconds(given.pop("time"))
    return {name: _plain(name, value) for name, value in given.items()}


def setting_texts(settings: str | Sequence[str]) -> tuple[str, ...]:
    """Return `section.key=value` texts as a tuple, of one text as well.

    Raises:
        UsageError: they are something else.
    """
    one = isinstance(settings, str) or not isinstance(settings, Iterable)
    texts: tuple[Any, ...] = (settings,) if one else tuple(settings)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"settings must be strings, such as ['search.budget=20'], got {text!r}")
    return texts


def placement_table(placement: object) -> Mapping[str, str] | None:
    """Return a placement that a caller gave; None for none.

    Raises:
        UsageError: it is no mapping of texts.
    """
    if placement is None or (isinstance(placement, Mapping) and _is_of_texts(placement)):
        return placement
    raise UsageError(
        f"a placement must map names of operations to names of devices, got {placement!r:.80}; "
        "give one such as run.placement"
    )


def _is_of_texts(table: Mapping[object, object]) -> bool:
    return all(isinstance(text, str) for pair in table.items() for text in pair)


def _without_numpy(name: str, value: Any) -> Any:
    """Return a number or an array of numpy as Python's own number or list; the inputs stay what they are."""
    return value.tolist() if name != "input" and hasattr(value, "tolist") else value


def _plain(name: str, value: Any) -> object:
    if name == "device":
        return _device_text(value)
    if name == "shape":
        return shape_text(value)
    return str(value) if isinstance(value, Path) else value


def _device_text(value: str | Sequence[str]) -> str:
    try:
        return value if isinstance(value, str) else ",".join(value)
    except TypeError:
        said = f"device must be a string or a list of strings, got {value!r}"
        raise UsageError(f"{said}; write device=['GPU', 'CPU']") from None


def shape_text(value: str | Sequence[int] | Mapping[str, Sequence[int]]) -> str:
    """Return shapes as the text that `--shape` takes.

    Raises:
        UsageError: they are neither numbers in a sequence nor a mapping to such.
    """
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, Mapping):
            return ",".join(shape_item(str(name), _dimensions(shape)) for name, shape in value.items())
        return shape_item("", value)
    except TypeError:
        raise UsageError(
            f"shape must be a list of numbers or a mapping from names to lists, got {value!r}; "
            "write shape=[1, 3, 224, 224] or shape={'NAME': [1, 8]}"
        ) from None


def _dimensions(shape: str | Sequence[int]) -> Sequence[object]:
    """Return the dimensions of a shape, which may be a text such as `[1,8]`."""
    return shape.strip().removeprefix("[").removesuffix("]").split(",") if isinstance(shape, str) else shape
