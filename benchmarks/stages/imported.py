"""Placements that HETERO imports against the same placements compiled by HETERO.

Chunks of each model alternate between two devices. Several fresh processes compile this placement and import it from
the blob that the first one wrote, and time both in turns. `plain` is the latency imported without properties over that
compiled, as a program that uses `import_model` or `CACHE_DIR` has it; `shared executor` that with the property that
HETERO sets when it compiles (`ovplace/ir/shared_executor.py`), as ovplace imports; both with 95 % intervals over the
processes. `spread` is the standard deviation over the processes of the latency relative to the whole model on the CPU,
compiled and imported.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.report import Row, interval_text
from benchmarks.sessions import opened_session
from benchmarks.timing import in_new_process
from ovplace.core.device import Device
from ovplace.core.measurement import rotated
from ovplace.core.placement import Placement
from ovplace.core.statistics import ratio_interval
from ovplace.session.session import Session

if TYPE_CHECKING:
    import openvino as ov

BLOCKS, REPEATS, MIN_TIME_MS = 12, 3, 10.0


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: names of devices in `benchmarks.sessions`.
        chunks: parts of each model that alternate between the devices.
        processes: fresh processes of each row.
    """

    models: tuple[str, ...] = ("demo", "siren", "hyperbolic", "unet", "mobilenet-v2", "detector-head")
    devices: tuple[str, ...] = ("cpu+cpu", "cpu+emulated-gpu")
    chunks: int = 8
    processes: int = 8


SHORT = Options(models=("hyperbolic",), devices=("cpu+cpu",), processes=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each pair of devices and model."""
    for devices in options.devices:
        for model in options.models:
            with opened_session(model, devices) as measurer, tempfile.TemporaryDirectory() as folder:
                placement = _alternating(measurer.session, options.chunks)
                job = str(measurer.session.folder.prepared_model), measurer.session.devices, placement
                found = [
                    in_new_process(__name__, "measure", *job, Path(folder) / "placed.blob")
                    for _ in range(options.processes)
                ]
            yield {"model": model, "devices": devices, **_row(found)}


def _alternating(session: Session, chunks: int) -> Placement:
    partition = session.problem.partition
    device_of = np.arange(partition.n_groups) * chunks // partition.n_groups % 2
    return partition.lift(device_of, tuple(device.name for device in session.devices))


def measure(model_xml: str, devices: Sequence[Device], placement: Placement, file: Path) -> Row:
    """Return the block medians in ms of each way, and the seconds that compiling and importing took.

    Args:
        model_xml: the prepared model.
        devices: of the placement.
        placement: the device of each operation, `[N]`.
        file: the blob; it is written where it is missing.
    """
    if any(device.emulated for device in devices):
        from ovplace.devices import emulated_gpu

        emulated_gpu.enable()
    import openvino as ov

    from ovplace.devices.variants import register
    from ovplace.ir.affinity import compile_placement, submodel_chain
    from ovplace.ir.shared_executor import import_placed

    core = ov.Core()
    register(core, devices)
    model = core.read_model(model_xml)
    compiled, compile_s = _timed(lambda: compile_placement(core, model, placement))
    if not file.exists():
        file.write_bytes(compiled.export_model().getvalue())
    blob = file.read_bytes()
    imported, import_s = _timed(lambda: import_placed(core, blob, placement.devices))
    ways = {
        "compiled": compiled,
        "plain": core.import_model(blob, f"HETERO:{','.join(placement.devices)}"),
        "shared": imported,
        "whole": core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}),
    }
    blocks = _in_turns({name: _request(model, way) for name, way in ways.items()})
    return {**blocks, "submodels": len(submodel_chain(compiled)), "compile_s": compile_s, "import_s": import_s}


def _timed(act: Callable[[], ov.CompiledModel]) -> tuple[ov.CompiledModel, float]:
    start = perf_counter()
    return act(), perf_counter() - start


def _request(model: ov.Model, compiled: ov.CompiledModel) -> ov.InferRequest:
    from ovplace.ir.inputs import as_tensor, random_inputs

    request = compiled.create_infer_request()
    for i, (port, array) in enumerate(zip(model.inputs, random_inputs(model, 0), strict=True)):
        request.set_input_tensor(i, as_tensor(port, array))
    return request


def _in_turns(requests: dict[str, ov.InferRequest]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in requests}
    for block in range(BLOCKS + 1):
        for name, request in rotated(list(requests.items()), block):
            found[name].append(_block_ms(request))
    return {name: medians[1:] for name, medians in found.items()}  # the first block warms up


def _block_ms(request: ov.InferRequest) -> float:
    request.infer(share_outputs=True)
    samples: list[float] = []
    while len(samples) < REPEATS or sum(samples) < MIN_TIME_MS:
        start = perf_counter()
        request.infer(share_outputs=True)
        samples.append((perf_counter() - start) * 1e3)
    return float(np.median(samples))


def _row(found: Sequence[dict[str, Any]]) -> Row:
    ms = {way: [np.array(one[way]) for one in found] for way in ("compiled", "plain", "shared", "whole")}
    return {
        "submodels": found[0]["submodels"],
        "plain": _ratio(ms["plain"], ms["compiled"]),
        "shared executor": _ratio(ms["shared"], ms["compiled"]),
        "spread": f"{_spread(ms['compiled'], ms['whole']):.1%}, {_spread(ms['shared'], ms['whole']):.1%}",
        "compile s": float(np.median([one["compile_s"] for one in found])),
        "import s": float(np.median([one["import_s"] for one in found])),
    }


def _ratio(numerator: Sequence[Any], denominator: Sequence[Any]) -> str:
    return interval_text(ratio_interval(numerator, denominator))


def _spread(numerator: Sequence[Any], denominator: Sequence[Any]) -> float:
    return float(np.std([np.log(a / b).mean() for a, b in zip(numerator, denominator, strict=True)], ddof=1))
