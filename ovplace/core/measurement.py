"""Values of measuring: candidates, specifications, measurements and trials."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil, inf, isnan
from statistics import median
from typing import Any, TypeVar

import numpy as np

from ovplace.core.device import Device
from ovplace.core.placement import Placement

MACHINE = "machine"
"""Fact of a measurement that another machine made: its name."""


class ErrorKind(StrEnum):
    """The reasons why a measurement has no samples."""

    COMPILE = "compile"
    INFER = "infer"
    TIMEOUT = "timeout"
    CRASH = "crash"
    MEMORY = "memory"
    OUTPUT_MISMATCH = "output_mismatch"


OUT_OF_MEMORY = (
    "bad_alloc", "MemoryError", "out of memory", "OUT_OF_HOST_MEMORY", "MEM_OBJECT_ALLOCATION", "OUT_OF_RESOURCES",
)  # fmt: skip
"""Texts by which runtimes and drivers report exhausted memory."""


def kind_of(text: str, otherwise: ErrorKind) -> ErrorKind:
    """Return `MEMORY` if an error text reports exhausted memory, else `otherwise`.

    Args:
        text: the error text of a runtime or driver.
        otherwise: the kind of any other error.
    """
    return ErrorKind.MEMORY if any(sign in text for sign in OUT_OF_MEMORY) else otherwise


NEVER_HOPELESS = 1e9
"""The `hopeless_ratio` of a request in which every candidate is timed fully."""


@dataclass(frozen=True)
class MeasureSpec:
    """Duration and number of measurements.

    Attributes:
        warmup: inferences before the first sample. The very first inference comes before them; its time is kept
            separately. A search does none, because each block begins with untimed inferences anyway.
        blocks: number of blocks in which each candidate of a request is timed; candidates take turns block by block.
            A search times its placements in two thirds of them, rounded up.
        repeats: smallest number of samples of each candidate in a block.
        min_time_ms: shortest time that each candidate is run in a block; short inferences get more samples. A search
            runs its placements for half of it.
        hopeless_ratio: a candidate gets a single sample if its inferences before the first block take this many times
            as long as those of the fastest candidate of the request that runs the same part of the model: its
            precise latency does not matter. The final comparison times all candidates fully, because a placement may
            be that much faster than a baseline.
        deadline_s: a request (compilation, check and all blocks of all its candidates) is stopped after this time; in
            the race, the final comparison and `ovplace measure`, after this time for each of its candidates.
    """

    warmup: int = 2
    blocks: int = 3
    repeats: int = 3
    min_time_ms: float = 20.0
    hopeless_ratio: float = 2.5
    deadline_s: float = 120.0

    def __post_init__(self) -> None:
        """Check that everything is positive."""
        for name, value in asdict(self).items():
            if not 0 <= value < inf or (value == 0 and name not in ("warmup", "min_time_ms")):
                raise ValueError(f"{name} must be positive, got {value}")

    @property
    def settling_ms(self) -> float:
        """Shortest time for which a candidate runs untimed before its samples of a block, in ms.

        Another candidate ran before it, and its weights are no longer in the processor's caches.
        """
        return self.min_time_ms / 2 if self.repeats > 1 else 0.0

    def one_sample(self) -> MeasureSpec:
        """Return the specification with the fewest inferences."""
        return replace(self, warmup=0, blocks=1, repeats=1, min_time_ms=0.0)

    def of_trial(self) -> MeasureSpec:
        """Return the specification for the placements of a search: fewer inferences, in fewer and shorter blocks.

        What differs between requests is the same in all samples of one, so more inferences hardly make the ratio of a
        placement more certain (`python -m benchmarks run trial_spec`). The time is better spent on other placements.
        With two blocks, the median of their ratios is the mean: a disturbed block counts in full.
        """
        return replace(self, warmup=0, blocks=ceil(2 * self.blocks / 3), min_time_ms=self.min_time_ms / 2)

    def key(self) -> str:
        """Return the text that identifies the specification in the store."""
        return json.dumps(asdict(self), sort_keys=True)


Item = TypeVar("Item")


def rotated(items: Sequence[Item], turn: int) -> list[Item]:
    """Return items in the order of one turn: each next turn begins with the next item.

    Over as many turns as there are items, each is at each place once, so drift favours none. There and back would
    favour the first and the last of three or more: in half of the turns they would follow themselves, with their
    weights still in the processor's caches.

    Args:
        items: in the order of turn 0.
        turn: number of the turn; a negative one undoes it.
    """
    first = turn % len(items) if items else 0
    return [*items[first:], *items[:first]]


@dataclass(frozen=True)
class Candidate:
    """Something that can be compiled and timed: a placement, or one of OpenVINO's own choices.

    Attributes:
        name: its name in tables, such as `CPU` or `trial 12`.
        placement: the devices of the operations; None where OpenVINO decides.
        target: the device string OpenVINO gets where `placement` is None, such as `AUTO:GPU,CPU`.
        part: indices of the operations that are compiled and timed alone, fed with the tensors that the whole model
            has there; empty for the whole model. The placement still names a device for every operation.
        staged: whether the submodels of the placement are compiled and run one by one. Each is timed, and those that
            other placements share are compiled only once; HETERO compiles all of them anew.
        reference: whether the others of its request are compared with it. If it is much slower than they are, it is
            still timed in each block, by one inference, so that drift and outliers do not distort their ratios.
    """

    name: str
    placement: Placement | None = None
    target: str = ""
    part: tuple[int, ...] = ()
    staged: bool = False
    reference: bool = False

    def __post_init__(self) -> None:
        """Check that exactly one of placement and target is there."""
        if (self.placement is None) == (not self.target):
            raise ValueError(f"candidate '{self.name}' needs a placement or a target, and not both")
        if self.part and self.placement is None:
            raise ValueError(f"candidate '{self.name}' is a part of the model, which needs a placement")
        if self.staged and self.placement is None:
            raise ValueError(f"candidate '{self.name}' is staged, which needs a placement")

    @property
    def hash(self) -> str:
        """Hash that is equal for candidates that compile to the same thing."""
        if self.placement is None:
            return _hashed(self.target)
        placed = self.placement.hash
        if self.staged and not self.placement.is_uniform:
            placed = _hashed(f"{placed} staged")
        if not self.part:
            return placed
        digest = hashlib.blake2b(placed.encode(), digest_size=12)
        digest.update(np.array(self.part, dtype="<i4").tobytes())
        return digest.hexdigest()


def _hashed(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True)
class OutputError:
    """Difference of one output to the whole model's on the CPU in f32.

    Attributes:
        name: the output.
        max_abs: largest absolute difference.
        max_rel: largest absolute difference over the largest reference magnitude.
        cosine: cosine of the angle between the two, 1 where they agree.
    """

    name: str
    max_abs: float
    max_rel: float
    cosine: float


@dataclass(frozen=True)
class Measurement:
    """Samples in milliseconds, or the kind and text of an error: exactly one of the two.

    Attributes:
        samples_ms: latency of each inference, in order, `[S]`.
        blocks: samples in each block, so that ratios can be formed block by block, `[B]`.
        error: why there are no samples.
        error_text: the runtime's own text, in one line.
        compile_ms: time to compile.
        first_ms: time of the first inference.
        submodels: device of each submodel that really runs, in running order.
        outputs: differences to the reference; empty where outputs were not checked.
        facts: further facts of the backend by name (execution devices, precision, simulated, ...).
        stages_ms: median latency of each submodel in running order, where it was run stage by stage; empty otherwise.
    """

    samples_ms: tuple[float, ...] = ()
    blocks: tuple[int, ...] = ()
    error: ErrorKind | None = None
    error_text: str = ""
    compile_ms: float = 0.0
    first_ms: float = 0.0
    submodels: tuple[str, ...] = ()
    outputs: tuple[OutputError, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    stages_ms: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that there are samples or an error, and not both."""
        if (self.error is None) == (not self.samples_ms):
            raise ValueError("a measurement has samples or an error, exactly one of the two")
        if self.samples_ms and (sum(self.blocks) != len(self.samples_ms) or min(self.blocks) < 1):
            raise ValueError(f"blocks count {sum(self.blocks)} samples, there are {len(self.samples_ms)}")
        if not all(0 < sample < inf for sample in self.samples_ms):
            raise ValueError(f"samples must be positive, got {min(self.samples_ms)} to {max(self.samples_ms)} ms")

    @classmethod
    def failed(cls, error: ErrorKind, text: str, **extra: Any) -> Measurement:
        """Return a failure.

        Args:
            error: its kind.
            text: the runtime's text; the first 500 characters are kept, as one line.
            **extra: other fields of the measurement.
        """
        return cls(error=error, error_text=" ".join(text.split())[:500], **extra)

    @property
    def ok(self) -> bool:
        """True if there are samples."""
        return self.error is None

    @property
    def median_ms(self) -> float:
        """Median latency in ms; infinite for a failure, so that it sorts last."""
        return float(np.median(self.samples_ms)) if self.ok else float("inf")

    @cached_property
    def block_medians_ms(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Median of each block in ms, `[B]`."""
        bounds = pairwise(accumulate(self.blocks, initial=0))
        medians = [median(self.samples_ms[start:end]) for start, end in bounds]  # NumPy's takes ten times as long
        return np.array(medians)

    @property
    def max_error(self) -> float:
        """Largest relative output error, infinite where one is not a number, 0 where outputs were not checked."""
        return max((inf if isnan(output.max_rel) else output.max_rel for output in self.outputs), default=0.0)

    def to_dict(self) -> dict[str, object]:
        """Return plain data for JSON, the inverse of `from_dict`."""
        data = asdict(self)
        data["error"] = self.error.value if self.error else None
        data["facts"] = dict(self.facts)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Measurement:
        """Build a measurement from what `to_dict` returned."""
        fields = dict(data)
        fields["error"] = ErrorKind(fields["error"]) if fields["error"] else None
        fields["outputs"] = tuple(OutputError(**output) for output in fields["outputs"])
        for name in ("samples_ms", "blocks", "submodels", "stages_ms"):
            fields[name] = tuple(fields.get(name, ()))
        return cls(**fields)


@dataclass(frozen=True)
class Trial:
    """One measured placement of a search.

    Attributes:
        number: position in the run, from 0.
        placement: what was measured.
        measurement: its measurement.
        ratio: median latency over the reference's, measured in turns in the same request; infinite for a failure.
        origin: the placer that proposed it, such as `local_search`.
        cached: whether the measurement is one that the run had stored.
    """

    number: int
    placement: Placement
    measurement: Measurement
    ratio: float
    origin: str
    cached: bool = False

    @property
    def candidate(self) -> Candidate:
        """Its placement, to be measured again by HETERO."""
        return Candidate(f"trial {self.number}", self.placement)

    @property
    def reference_ms(self) -> float:
        """Median latency of its reference in ms; only where it worked."""
        return self.measurement.median_ms / self.ratio

    @property
    def machine(self) -> str:
        """Name of the machine of a fleet that measured it; empty for this machine."""
        return self.measurement.facts.get(MACHINE, "")


@dataclass(frozen=True)
class Job:
    """The job of a backend: one model to be measured on some devices.

    Attributes:
        model_path: the prepared model.
        devices: every device a candidate may name, references and null aliases included.
        input_path: an `.npz` with the inputs; empty for random ones.
        seed: root seed of the inputs.
        options: the backend's own settings, its TOML section.
    """

    model_path: str
    devices: tuple[Device, ...]
    input_path: str = ""
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
