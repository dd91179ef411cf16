"""Timing compiled candidates in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ovplace.backends.openvino.failures import failure
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec, rotated
from ovplace.ir.timing.state import reset_state

if TYPE_CHECKING:
    import openvino as ov

    from ovplace.stages.chain import Chain

    Request: TypeAlias = ov.InferRequest | Chain

_CALL_MS = 0.01
"""Time that an inference and the interpreter around it take at least; it limits the samples of the shortest models."""


@dataclass
class Ready:
    """A compiled candidate with its request, or why it has none."""

    request: Any = None
    failure: Measurement | None = None
    compile_ms: float = 0.0
    first_ms: float = 0.0
    pace_ms: float = 0.0  # best of the inferences before the warm-up
    submodels: tuple[str, ...] = ()
    outputs: Any = ()
    execution: str = ""
    staged: bool = False
    stages_ms: list[tuple[float, ...]] = field(default_factory=list)  # of each sample, where it is staged

    def measurement(self, blocks: Sequence[Sequence[float]]) -> Measurement:
        """Return why it failed, or the latencies in ms of each block with what is known of it.

        Args:
            blocks: as `Timer.in_turns` returned them.
        """
        if self.failure is not None:
            return self.failure
        return Measurement(
            samples_ms=tuple(sample for block in blocks for sample in block),
            blocks=tuple(len(block) for block in blocks),
            compile_ms=self.compile_ms,
            first_ms=self.first_ms,
            submodels=self.submodels,
            outputs=self.outputs,
            facts={"execution_devices": self.execution},
            stages_ms=tuple(np.median(self.stages_ms, axis=0).tolist()) if self.stages_ms else (),
        )


class Timer:
    """Times requests of one model.

    Attributes:
        begins_anew: whether each inference needs the first state, as the inputs do not fit the one that it leaves.
        inferring_ms: time of all inferences since the last answer.
    """

    def __init__(self, *, has_state: bool) -> None:
        """Begin with no inference.

        Args:
            has_state: whether the model has a state, which the next inference reads.
        """
        self._has_state = has_state
        self.begins_anew = False
        self.inferring_ms = 0.0

    def in_turns(
        self, ready: Sequence[Ready], candidates: Sequence[Candidate], spec: MeasureSpec
    ) -> list[list[list[float]]]:
        """Return the latencies in ms of each block of each candidate.

        A hopeless one has one block, of one inference; a reference that is hopeless one inference in each block.

        Args:
            ready: the candidates compiled; one that fails now is told why.
            candidates: what they are, in the same order.
            spec: how often they are timed.
        """
        blocks: list[list[list[float]]] = [[] for _ in ready]
        hopeless = self._found_hopeless(ready, candidates, spec)
        running = {i: r for i, r in enumerate(ready) if r.failure is None}
        for block in range(spec.blocks):
            for i, r in rotated(list(running.items()), block):
                if i in hopeless and block and not candidates[i].reference:
                    continue
                try:
                    blocks[i].append(self._block(r, spec.one_sample() if i in hopeless else spec))
                except Exception as error:  # as of a compilation: whatever a plugin throws
                    r.failure = failure(ErrorKind.INFER, error)
                    del running[i]
        return blocks

    def timed(self, ready: Ready) -> float:
        """Infer once, and return the latency in ms."""
        if self.begins_anew:
            self.start_state(ready.request)
        # Copying 4 MB of outputs into new arrays takes 0.2 ms; a program that reads the tensors does without.
        ready.request.infer(share_outputs=True)
        latency_ms = float(ready.request.latency)  # without the interpreter's time around it
        self.inferring_ms += latency_ms
        return latency_ms

    def start_state(self, request: Request) -> None:
        """Reset the state of a request, if the model has one."""
        if self._has_state:  # AUTO's requests refuse even to list their states
            reset_state(request)

    def _found_hopeless(self, ready: Sequence[Ready], candidates: Sequence[Candidate], spec: MeasureSpec) -> set[int]:
        """Warm the candidates up, and return which of them are hopeless.

        Where there is no warm-up, they get one if any seems hopeless, as its only inference so far may be its first.
        """
        pace = {i: self._warm_up(r, spec) for i, r in enumerate(ready) if r.failure is None}
        found = _hopeless({i: ms for i, ms in pace.items() if not ready[i].failure}, candidates, spec.hopeless_ratio)
        if found and not spec.warmup and spec.repeats > 1:
            return self._found_hopeless(ready, candidates, replace(spec, warmup=1))
        return found

    def _warm_up(self, ready: Ready, spec: MeasureSpec) -> float:
        """Run the request without timing a sample; return its pace in ms, the best so far, 0 if it fails."""
        try:
            pace = ready.pace_ms
            ready.stages_ms.clear()
            for _ in range(spec.warmup):
                pace = min(pace, self.timed(ready))  # one inference that is disturbed does not make it hopeless
        except Exception as error:  # likewise
            ready.failure = failure(ErrorKind.INFER, error)
            return 0.0
        return pace

    def _block(self, ready: Ready, spec: MeasureSpec) -> list[float]:
        """Return the latencies in ms of one block, after untimed inferences that bring caches and state back."""
        self._settle(ready, spec)
        samples: list[float] = []
        passed_ms = 0.0
        while len(samples) < spec.repeats or (spec.repeats > 1 and passed_ms < spec.min_time_ms):
            if self._has_state and len(samples) % spec.repeats == 0:
                self._restart(ready)
            samples.append(self.timed(ready))
            passed_ms += max(_CALL_MS, samples[-1])
            if ready.staged:
                ready.stages_ms.append(ready.request.last_ms)
        return samples

    def _settle(self, ready: Ready, spec: MeasureSpec) -> None:
        passed_ms = 0.0
        while passed_ms < spec.settling_ms:
            passed_ms += max(_CALL_MS, self.timed(ready))
        if not (passed_ms or self._has_state):
            self.timed(ready)

    def _restart(self, ready: Ready) -> None:
        """Reset the state and run once untimed: one that grows would slow down whoever runs more often in a block."""
        self.start_state(ready.request)
        self.timed(ready)


def _hopeless(pace: Mapping[int, float], candidates: Sequence[Candidate], limit: float) -> set[int]:
    """Return which candidates are `limit` times slower than another that computes the same: whole models, or a part."""
    fastest: dict[tuple[int, ...], float] = {}
    for i, ms in pace.items():
        fastest[candidates[i].part] = min(ms, fastest.get(candidates[i].part, ms))
    return {i for i, ms in pace.items() if ms > limit * fastest[candidates[i].part]}
