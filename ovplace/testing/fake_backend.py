"""A backend with computed latencies and faults on demand, for tests of measuring.

It is a plug-in with its dotted path, `ovplace.testing.fake_backend`, so that a measuring process can build it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import numpy as np

from ovplace.core.measurement import Candidate, ErrorKind, Job, Measurement, MeasureSpec, OutputError
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.graphs.op_graph import BoolArray
from ovplace.plugins import protocols
from ovplace.testing.faults.arming import disarm

SUMMARY = "computed latencies, for tests"
NAME = "ovplace.testing.fake_backend"
BASE_MS = 10.0
CALL_MS, CUT_MS = 0.05, 0.2
"""Time that each device of a part, and each cut in it, adds to its share of the whole model's time, in ms."""


@dataclass(frozen=True)
class Config:
    """Settings of the fake backend.

    Attributes:
        ops: number of operations of the model; 0 counts those of the model file.
        split: latency of placements on several devices over the first device's; 0 draws it from the placement's hash.
        fault: the fault to produce, a key of `FAULTS`; empty for none.
        on: when to produce it: at `preload`, at `build`, for `all` candidates, for `split` ones, for `some` of these
            (one in three, by hash), or when it is `armed`.
        armed: file with the name of the fault that the next request has to produce, once; `arming.arm` writes it.
        log: file that gets a line for each measured candidate: process id, placement hash and the name's first word.
        delay_s: duration of each request in seconds.
        version: version in the facts.
    """

    ops: int = 0
    split: float = 0.0
    fault: str = ""
    on: str = "split"
    armed: str = ""
    log: str = ""
    delay_s: float = 0.0
    version: str = "1"


class Backend(protocols.Backend):
    """Answers by a formula, or with the fault that the settings name."""

    simulated: ClassVar[bool] = True

    @classmethod
    def preload(cls, job: Job) -> None:
        """Import nothing; produce the fault if it is one of importing."""
        config = Config(**job.options)
        if config.on == "preload":
            FAULTS[config.fault](None)

    def __init__(self, job: Job) -> None:
        """Read the settings; produce the fault if it is one of building."""
        self._config = Config(**job.options)
        self._names = [device.name for device in job.devices]
        self._ops = self._config.ops or _count_ops(Path(job.model_path))
        if self._config.on == "build":
            FAULTS[self._config.fault](None)

    def facts(self) -> Mapping[str, str]:
        """Return the version in the settings."""
        return {"openvino": f"fake {self._config.version}"}

    def supported(self) -> BoolArray:
        """Return that every device supports every operation, `[N, D]`."""
        return np.ones((self._ops, len(self._names)), dtype=bool)

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Return the formula's latency for each candidate, as often as `spec` wants.

        Args:
            candidates: placements, parts or device texts to time.
            spec: number of blocks and samples.
        """
        time.sleep(self._config.delay_s)
        self._note(candidates)
        answers: list[Any] = [self._one(candidate, spec) for candidate in candidates]
        return [] if any(answer is _TOO_FEW for answer in answers) else answers

    def latency_ms(self, candidate: Candidate) -> float:
        """Return the computed latency in ms, the same in every process."""
        if candidate.placement is None:
            return BASE_MS * 1.3
        if candidate.part:
            placement = _of_part(candidate)
            work = [1 + 0.1 * self._names.index(placement.devices[d]) for d in placement.device_of]
            used = len(placement.used)
            return BASE_MS * sum(work) / self._ops + CALL_MS * used + CUT_MS * (used - 1)
        if candidate.placement.is_uniform:
            return BASE_MS * (1 + 0.1 * self._names.index(candidate.placement.used[0]))
        return BASE_MS * (self._config.split or 0.5 + int(candidate.hash[:8], 16) / 2**32)

    def _one(self, candidate: Candidate, spec: MeasureSpec) -> object:
        if candidate.placement is not None and len(candidate.placement.device_of) != self._ops:
            return Measurement.failed(ErrorKind.COMPILE, f"the model has {self._ops} operations")
        if max(candidate.part, default=0) >= self._ops:
            return Measurement.failed(ErrorKind.COMPILE, f"the model has {self._ops} operations, not {candidate.part}")
        if not {*candidate.target.rpartition(":")[2].split(","), ""} <= {*self._names, ""}:
            return Measurement.failed(ErrorKind.COMPILE, f"no device '{candidate.target}'")
        fault = self._fault_of(candidate)
        if fault and (answer := FAULTS[fault](candidate)) is not None:
            return answer
        return _measurement(self.latency_ms(candidate), candidate, spec)

    def _fault_of(self, candidate: Candidate) -> str:
        """Return the name of the fault to produce; empty for none."""
        if self._config.on == "armed":
            return disarm(self._config.armed)
        split = candidate.placement is not None and not candidate.placement.is_uniform
        chosen = {"all": True, "split": split, "some": split and int(candidate.hash[-4:], 16) % 3 == 0}
        return self._config.fault if chosen.get(self._config.on, False) else ""

    def _note(self, candidates: Sequence[Candidate]) -> None:
        if self._config.log:
            with Path(self._config.log).open("a", encoding="utf-8") as log:
                log.writelines(
                    f"{os.getpid()} {candidate.hash} {candidate.name.split()[0]}\n" for candidate in candidates
                )


def _count_ops(model: Path) -> int:
    return len(ElementTree.parse(model).findall("./layers/layer"))


def _of_part(candidate: Candidate) -> Placement:
    assert candidate.placement is not None
    return Placement(candidate.placement.device_of[list(candidate.part)], candidate.placement.devices)


def _measurement(latency_ms: float, candidate: Candidate, spec: MeasureSpec, **rest: Any) -> Measurement:
    placement = _of_part(candidate) if candidate.part else candidate.placement
    submodels = placement.used if placement is not None else ()
    samples, blocks = (latency_ms,) * (spec.blocks * spec.repeats), (spec.repeats,) * spec.blocks
    outputs = () if candidate.part else (OutputError("y", 0.0, 0.0, 1.0),)
    return Measurement(samples, blocks, **{"submodels": submodels, "outputs": outputs, **rest})


_TOO_FEW = object()
_ONE = MeasureSpec(blocks=1, repeats=1)


def _hang(_: object) -> None:
    """Hang in native code that keeps the interpreter's lock and every signal that can be kept."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    ctypes.PyDLL(None).sleep(600)


def _raise(error: BaseException) -> Callable[[object], object]:
    def act(_: object) -> None:
        raise error

    return act


def _terminate(words: str) -> Callable[[object], object]:
    def act(_: object) -> None:
        os.write(2, words.encode())
        os.abort()

    return act


def _lie(latency_ms: float, **rest: Any) -> Callable[[Any], object]:
    return lambda candidate: _measurement(latency_ms, candidate, _ONE, **rest)


def _hang_at_exit(_: object) -> None:
    """End, as drivers do that hang in their own clean-up."""
    atexit.register(_hang, None)
    raise SystemExit(3)


def _print(_: object) -> None:
    sys.stdout.write("a driver's greeting\n" * 100)
    sys.stdout.flush()
    os.write(1, b"\x80\x04 and some bytes\n")


FAULTS: Mapping[str, Callable[[Any], object]] = {
    "sleep": lambda _: time.sleep(600),
    "hang": _hang,
    "abort": _terminate("native code gave up\n"),
    "bad_alloc": _terminate("terminate called after throwing an instance of 'std::bad_alloc'\n"),
    "exit": _raise(SystemExit(3)),
    "raise": _raise(ValueError("a value that\nnobody expected")),
    "memory": _raise(MemoryError("too much")),
    "refuse": _raise(BackendError("the fake refuses to work; order another")),
    "fail": lambda _: Measurement.failed(ErrorKind.COMPILE, "refused"),
    "too_few": lambda _: _TOO_FEW,
    "no_measurement": lambda _: "fast",
    "unpicklable": _lie(1.0, facts={"run": lambda: None}),
    "refused": _lie(1.0, facts=defaultdict(str, a="b")),
    "nan_samples": _lie(float("nan")),
    "negative": _lie(-1.0),
    "nan_outputs": _lie(1.0, outputs=(OutputError("y", float("nan"), float("nan"), float("nan")),)),
    "wrong_outputs": _lie(1.0, outputs=(OutputError("y", 3.0, 3.0, 1.0),)),
    "no_outputs": _lie(1.0, outputs=()),
    "segfault": lambda _: os.kill(os.getpid(), signal.SIGSEGV),
    "exit_hang": _hang_at_exit,
    "print": _print,
}
"""Faults by name: functions of the candidate, whose result, unless None, is the answer."""
