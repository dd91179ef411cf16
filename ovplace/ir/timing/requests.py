"""Latencies of inference requests, taken as OpenVINO's benchmark_app takes them.

Source: openvino `tools/benchmark_tool`, 2026.4.1: inputs are filled before the loop, one inference warms up, requests
follow one another (`sync`) or several are kept busy (`async`), and each latency is the one that the request reports.
Only a state is reset before each inference where the inputs fit the first one alone; benchmark_app fails there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.errors import PlacementError
from ovplace.ir.load import open_placed
from ovplace.ir.timing.state import fits_next_state, reset_state

if TYPE_CHECKING:
    import openvino as ov

    from ovplace.ir.inputs import Array


@dataclass(frozen=True)
class Load:
    """The load of a benchmark.

    Attributes:
        api: `sync`, or `async` for several inference requests in flight.
        n_requests: inference requests in flight with `async`; 0 for the number that the compiled model asks for.
        n_iterations: inferences, at least; 0 for no such number.
        time_s: seconds, at least; 0 for no such limit.
        counters: whether the plugins count the time of each layer, which costs some.
        input_path: `.npz` file with one array for each input; empty for random inputs.
        seed: root seed of random inputs.
    """

    api: str = "sync"
    n_requests: int = 0
    n_iterations: int = 0
    time_s: float = 10.0
    counters: bool = False
    input_path: str = ""
    seed: int = 0


@dataclass(frozen=True)
class LayerTime:
    """The time of a layer as its plugin counts it.

    Attributes:
        name: name of the layer; HETERO puts the submodel before it.
        node_type: operation type of the layer.
        status: whether the layer ran, such as `EXECUTED`.
        real_ms: wall time of the layer in ms.
        cpu_ms: processor time of the layer in ms.
        exec_type: the plugin's implementation of the layer.
    """

    name: str
    node_type: str
    status: str
    real_ms: float
    cpu_ms: float
    exec_type: str


@dataclass(frozen=True)
class RequestTimes:
    """The times of a benchmark.

    Attributes:
        latencies_ms: latency of each inference, sorted.
        duration_ms: wall time of all of them together.
        read_ms: time to read the model.
        compile_ms: time to compile it.
        first_ms: time of the first inference, which is not among the others.
        n_requests: number of inference requests in flight.
        execution_devices: the devices that OpenVINO names.
        layers: the layers' times; empty where they were not counted.
    """

    latencies_ms: tuple[float, ...]
    duration_ms: float
    read_ms: float
    compile_ms: float
    first_ms: float
    n_requests: int
    execution_devices: str
    layers: tuple[LayerTime, ...] = ()


def time_requests(folder: Path, devices: Sequence[Device], target: str, load: Load) -> RequestTimes:
    """Compile the model of a run and time inferences, in a process that has done nothing else.

    Args:
        folder: a finished run.
        devices: of the run; its placement may use some of them only.
        target: the device text to compile for, such as `HETERO:GPU,CPU`; empty for the run's placement.
        load: how to run it.

    Raises:
        OvplaceError: the folder, a device or the placement cannot be used.
    """
    if any(device.emulated for device in devices):
        emulated_gpu.enable()  # before openvino is imported
    start = perf_counter()
    core, found = open_placed(folder)
    read_ms = _since(start)

    from ovplace.devices.variants import reason, register
    from ovplace.ir.affinity import compile_placed

    register(core, devices)
    if load.counters:
        for device in devices:
            core.set_property(device.name, {"PERF_COUNT": "YES"})
    start = perf_counter()
    try:
        table = found.table
        compiled = core.compile_model(found.model, target) if target else compile_placed(core, found.model, table)
        compile_ms = _since(start)
        return _timed(core, compiled, found.model, load, read_ms, compile_ms)
    except RuntimeError as error:
        raise PlacementError(f"{target or 'the placement'} does not run here: {reason(error)}") from error


def _timed(
    core: ov.Core, compiled: ov.CompiledModel, model: ov.Model, load: Load, read_ms: float, compile_ms: float
) -> RequestTimes:
    from ovplace.ir.affinity import property_values
    from ovplace.ir.inputs import fill, inputs_of

    wanted = load.n_requests or int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
    requests = [compiled.create_infer_request() for _ in range(wanted if load.api == "async" else 1)]
    arrays = inputs_of(model, load.input_path, load.seed)
    anew = _fit_first_state_only(core, model, arrays)
    for request in requests:
        fill(request, model, arrays)
    start = perf_counter()
    requests[0].infer()
    first_ms, start = _since(start), perf_counter()
    latencies = _one_by_one(requests[0], load, anew) if load.api == "sync" else _in_rounds(requests, load, anew)
    return RequestTimes(
        latencies_ms=tuple(sorted(latencies)),
        duration_ms=_since(start),
        read_ms=read_ms,
        compile_ms=compile_ms,
        first_ms=first_ms,
        n_requests=len(requests),
        execution_devices=",".join(property_values(compiled, "EXECUTION_DEVICES")),
        layers=_layers(requests) if load.counters else (),
    )


def _fit_first_state_only(core: ov.Core, model: ov.Model, arrays: Sequence[Array]) -> bool:
    """Return whether inputs do not fit the state that an inference leaves; the CPU compiles the model to find out."""
    from ovplace.ir.inputs import fill

    if not model.get_sinks():
        return False
    request = core.compile_model(model, "CPU").create_infer_request()
    fill(request, model, arrays)
    request.infer()
    return not fits_next_state(request)


def _one_by_one(request: ov.InferRequest, load: Load, anew: bool) -> list[float]:
    latencies: list[float] = []
    start = perf_counter()
    while not _is_done(load, len(latencies), start):
        if anew:
            reset_state(request)
        request.infer()
        latencies.append(request.latency)
    return latencies


def _in_rounds(requests: Sequence[ov.InferRequest], load: Load, anew: bool) -> list[float]:
    """Return the latencies of requests that are all kept busy, each started anew as soon as its turn comes.

    There are whole rounds, as in benchmark_app. Its queue with a Python callback is not used: it has been seen to wait
    for ever when it is deleted (openvino 2026.4.1).
    """
    latencies: list[float] = []
    start = perf_counter()
    for request in requests:
        _begin(request, anew)
    done = False
    while not done:
        done = _is_done(load, len(latencies) + len(requests), start)
        for request in requests:
            request.wait()
            latencies.append(request.latency)
            if not done:
                _begin(request, anew)
    return latencies


def _begin(request: ov.InferRequest, anew: bool) -> None:
    if anew:
        reset_state(request)
    request.start_async()


def _is_done(load: Load, n: int, start: float) -> bool:
    return n >= max(load.n_iterations, 1) and perf_counter() - start >= load.time_s


def _layers(requests: Sequence[Any]) -> tuple[LayerTime, ...]:
    """Return the layers of the first request; plugins count over all requests of a compiled model."""
    return tuple(
        LayerTime(
            layer.node_name,
            layer.node_type,
            str(layer.status).rpartition(".")[2],
            layer.real_time.total_seconds() * 1e3,
            layer.cpu_time.total_seconds() * 1e3,
            layer.exec_type,
        )
        for layer in requests[0].profiling_info
    )


def _since(start: float) -> float:
    return (perf_counter() - start) * 1e3
