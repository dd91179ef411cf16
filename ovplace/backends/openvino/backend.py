"""Compiling candidates, checking their outputs, and timing them."""

from __future__ import annotations

import platform
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ovplace.backends.openvino.config import Config
from ovplace.backends.openvino.failures import explained, failure
from ovplace.backends.openvino.timer import Ready, Timer
from ovplace.core.accuracy import NOT_FINITE, compare_all, has_no_finite_value
from ovplace.core.measurement import Candidate, ErrorKind, Job, Measurement, MeasureSpec
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import BoolArray
from ovplace.ir.timing.state import fits_next_state
from ovplace.plugins import protocols

if TYPE_CHECKING:
    from ovplace.backends.openvino.candidates import Compiled
    from ovplace.backends.openvino.timer import Request

SUMMARY = "real inferences with OpenVINO on this machine"


class Backend(protocols.Backend):
    """Owns one `ov.Core`; lives in the measuring process.

    Attributes:
        inputs: what every inference reads, an array for each input of the model.
        reference: outputs of the whole model on the CPU in f32, which every candidate's are compared with.
    """

    runs_stages: ClassVar[bool] = True

    def __init__(self, job: Job) -> None:
        """Read the model and register the devices.

        Raises:
            DeviceError: the emulated GPU cannot be enabled, or a device cannot be registered.
            ModelError: the prepared model cannot be read, or does not run on the CPU in f32.
        """
        self.preload(job)
        import openvino as ov

        from ovplace.backends.openvino.candidates import Candidates
        from ovplace.devices.variants import register
        from ovplace.ir.inputs import inputs_of

        self._job = job
        self._config = Config(**job.options)
        self._core = ov.Core()
        register(self._core, job.devices)
        self._model = self._core.read_model(job.model_path)
        self.inputs = inputs_of(self._model, job.input_path, job.seed)
        self._candidates = Candidates(self._core, self._model, self.inputs, job, self._config)
        self._has_state = bool(self._model.get_sinks())
        self._timer = Timer(has_state=self._has_state)
        self._kept: OrderedDict[str, Ready] = OrderedDict()
        self._compiling_ms = 0.0  # since the last answer
        self.reference = self._whole_model_outputs()

    @classmethod
    def preload(cls, job: Job) -> None:
        """Import OpenVINO, with the emulated GPU where the job has it.

        Args:
            job: what it will be built from.

        Raises:
            DeviceError: the emulated GPU cannot be enabled.
        """
        if any(device.emulated for device in job.devices):
            from ovplace.devices import emulated_gpu

            emulated_gpu.enable()  # before openvino is imported
        import ovplace.backends.openvino.candidates
        import ovplace.devices.variants
        import ovplace.ir.inputs  # noqa: F401 - for later

    def facts(self) -> Mapping[str, str]:
        """Return the versions and hardware that results depend on, and which outputs cannot be checked well."""
        import openvino as ov

        facts = {
            "openvino": ov.get_version(),
            "cpu": str(self._core.get_property("CPU", "FULL_DEVICE_NAME")),
            "platform": platform.platform(),
        }
        names = zip(self._output_names(), map(has_no_finite_value, self.reference), strict=True)
        if not_finite := [name for name, is_lost in names if is_lost]:
            facts[NOT_FINITE] = ", ".join(not_finite)
        return facts

    def supported(self) -> BoolArray:
        """Return which device of the job can run which operation, `[N, D]`, by `Core.query_model`.

        The answer holds for the whole model on that device, or for large parts of it where there is none for the
        whole, so it is a filter; measuring confirms.
        """
        from ovplace.ir.device_query import query_support

        ops = self._model.get_ordered_ops()
        table = np.zeros((len(ops), len(self._job.devices)), dtype=bool)
        known: dict[tuple[object, ...], set[str]] = {}  # aliases of a device support the same
        for d, device in enumerate(self._job.devices):
            same = device.base, *sorted(device.properties.items())
            if same not in known:
                known[same] = query_support(self._core, self._model, device)
            table[:, d] = [op.get_friendly_name() in known[same] for op in ops]
        return table

    def automatic(self, target: str) -> Mapping[str, str]:
        """Return the device of each operation by `Core.query_model`; empty where the plugins cannot answer."""
        try:
            found = self._core.query_model(self._model, target)
        except RuntimeError:
            return {}
        return {str(name): str(device) for name, device in found.items()}

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Compile the candidates, check the outputs of those that are whole models, and time them in turns.

        Args:
            candidates: placements on parts or on the whole model.
            spec: warm-up, repeats, blocks.

        Returns:
            One measurement for each candidate, in their order.
        """
        with self._compiling():
            self._candidates.cut_out(candidates)
        ready = [self._ready(candidate) for candidate in candidates]
        blocks = self._timer.in_turns(ready, candidates, spec)
        self._forget()
        measured = [r.measurement(of_one) for r, of_one in zip(ready, blocks, strict=True)]
        return [self._with_spending(measured[0]), *measured[1:]] if measured else []

    def _with_spending(self, measurement: Measurement) -> Measurement:
        """Return the first measurement of an answer with all the time the runtime took for it, failures' included."""
        spent_ms = {"compiling_ms": self._compiling_ms, "inferring_ms": self._timer.inferring_ms}
        self._compiling_ms = self._timer.inferring_ms = 0.0
        return replace(measurement, facts={**measurement.facts, **{key: f"{ms:.3f}" for key, ms in spent_ms.items()}})

    @contextmanager
    def _compiling(self) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self._compiling_ms += (perf_counter() - start) * 1e3

    def _ready(self, candidate: Candidate) -> Ready:
        """Return the candidate compiled, run once and checked; the reference comes from the last request."""
        if candidate.part:  # one of hundreds, each asked for once
            return self._compile(candidate)
        if candidate.hash not in self._kept:
            self._kept[candidate.hash] = self._compile(candidate)
        self._kept.move_to_end(candidate.hash)
        return self._kept[candidate.hash]

    def _forget(self) -> None:
        for key in [key for key, ready in self._kept.items() if ready.failure is not None]:
            del self._kept[key]
        while len(self._kept) > self._config.keep_compiled:
            self._kept.popitem(last=False)

    def _compile(self, candidate: Candidate) -> Ready:
        try:
            start = perf_counter()
            with self._compiling():
                compiled = self._candidates.compiled(candidate)
            compile_ms = (perf_counter() - start) * 1e3
            submodels = self._candidates.submodels(candidate, compiled)
        except PlacementError as error:
            return Ready(failure=Measurement.failed(ErrorKind.COMPILE, str(error)))
        except Exception as error:  # OpenVINO raises RuntimeError, and others where plugins throw through
            return Ready(failure=failure(ErrorKind.COMPILE, error))
        try:
            if candidate.part:
                return self._first_of_part(candidate, compiled, compile_ms, submodels)
            return self._first(candidate, compiled, compile_ms, submodels)
        except Exception as error:  # likewise
            return Ready(failure=failure(ErrorKind.INFER, error))

    def _first(self, candidate: Candidate, compiled: Compiled, compile_ms: float, submodels: tuple[str, ...]) -> Ready:
        from ovplace.ir.affinity import property_values

        request = self._request(compiled)
        ready = self._settled(request, compile_ms, submodels)
        ready.outputs = outputs = compare_all(self._output_names(), self.reference, self._outputs(request))
        ready.staged = candidate.staged and len(submodels) > 1
        ready.execution = ",".join(property_values(compiled, "EXECUTION_DEVICES"))
        broken = next((o for o in outputs if not np.isfinite(o.max_abs)), None)
        if broken is not None:
            text = f"output '{broken.name}' is of another shape or not finite where the whole model's on the CPU is"
            ready.failure = Measurement.failed(ErrorKind.OUTPUT_MISMATCH, text, outputs=outputs, submodels=submodels)
        return ready

    def _first_of_part(
        self, candidate: Candidate, compiled: Compiled, compile_ms: float, submodels: tuple[str, ...]
    ) -> Ready:
        request = compiled.create_infer_request()
        for i, tensor in enumerate(self._candidates.tensors(candidate)):
            request.set_input_tensor(i, tensor)
        return self._run_once(request, compile_ms, submodels)

    def _settled(self, request: Request, compile_ms: float, submodels: tuple[str, ...]) -> Ready:
        """Return a whole model after as many inferences as any other: random numbers differ from one to the next."""
        ready = self._run_once(request, compile_ms, submodels)
        if any(device.emulated for device in self._job.devices):
            # The emulated GPU may still be copying weights during its first inference (wrong numbers in about one
            # of four compilations of a 137-way split); every later one is right.
            self._timer.start_state(request)
            ready.pace_ms = min(ready.pace_ms, self._timer.timed(ready))
        return ready

    def _run_once(self, request: Request, compile_ms: float, submodels: tuple[str, ...]) -> Ready:
        ready = Ready(request, compile_ms=compile_ms, submodels=submodels)
        ready.first_ms = ready.pace_ms = self._timer.timed(ready)
        return ready

    def _request(self, compiled: Compiled) -> Request:
        from ovplace.ir.inputs import as_tensor, fill
        from ovplace.stages.chain import Chain

        request = compiled.create_infer_request()
        if isinstance(request, Chain):
            for i, (port, array) in enumerate(zip(self._model.inputs, self.inputs, strict=True)):
                request.set_input_tensor(i, as_tensor(port, array))
        else:
            fill(request, self._model, self.inputs)
        return request

    def _outputs(self, request: Request) -> list[Any]:
        """Return the outputs of the last inference, in the model's order."""
        from ovplace.ir.inputs import as_array
        from ovplace.stages.chain import Chain

        if isinstance(request, Chain):
            return [as_array(request.get_output_tensor(i)) for i in range(len(request.model_outputs))]
        return [as_array(request.get_tensor(port)) for port in self._model.outputs]

    def _output_names(self) -> list[str]:
        from ovplace.ir.inputs import input_name

        return [input_name(port) for port in self._model.outputs]

    def _whole_model_outputs(self) -> list[Any]:
        known = "export it with operations and types that OpenVINO's CPU plugin runs"
        with explained("does not compile for", known), self._compiling():
            compiled = self._candidates.reference()
        with explained("does not run on", "if it needs other values, give them with -i"):
            ready = self._settled(self._request(compiled), 0.0, ())
        outputs = self._outputs(ready.request)
        self._timer.begins_anew = self._has_state and not fits_next_state(ready.request)
        return outputs
