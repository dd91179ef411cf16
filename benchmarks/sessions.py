"""Sessions on real devices, for benchmarks that measure."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.script import UnavailableError
from ovplace import zoo
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.result.run_result import RunResult
from ovplace.devices import emulated_gpu
from ovplace.search.run import run
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.session.session import open_session
from ovplace.store.cache import VARIABLE
from ovplace.store.run_folder import RunFolder

TWO_PRECISIONS = "CPU_BF16=CPU{INFERENCE_PRECISION_HINT:bf16},CPU_F32=CPU{INFERENCE_PRECISION_HINT:f32}"
CPU_TWICE = "CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU_B=CPU{INFERENCE_PRECISION_HINT:f32}"
EMULATED_GPU = "GPU,CPU{INFERENCE_PRECISION_HINT:f32}"
DEVICES = {"bf16+f32": TWO_PRECISIONS, "cpu+cpu": CPU_TWICE, "cpu+emulated-gpu": EMULATED_GPU}
"""Devices as `-d` takes them, by name."""


@dataclass(frozen=True)
class MeasuredSession:
    """An open session with its baselines measured.

    Attributes:
        measurer: of the session.
        baselines: the fastest single device first.
    """

    measurer: Measurer
    baselines: list[Baseline]


def saved_model(model: str, path: Path) -> Path:
    """Return a model file as it is, or build a recipe into a file.

    Args:
        model: name of a recipe, or a model file.
        path: the file for a recipe.
    """
    if model not in zoo.names():
        return Path(model)
    zoo.save_recipe(model, zoo.recipe(model).Config(), path)
    return path


@contextmanager
def opened_session(model: str, devices: str) -> Iterator[Measurer]:
    """Open a session of a model on real devices, which imports nothing that another run compiled.

    Args:
        model: name of a recipe, or a model file.
        devices: a name of `DEVICES`.

    Raises:
        UnavailableError: the devices are not here.
    """
    emulated = "emulated" in devices
    if emulated and (reason := emulated_gpu.why_unavailable()):
        raise UnavailableError(reason)
    with own_cache() as folder:
        search = SearchConfig(
            model=str(saved_model(model, folder / "model.xml")),
            device=DEVICES[devices],
            emulate_gpu=True if emulated else None,
            early_exit=False,
        )
        run_folder = RunFolder(folder / "run")
        run_folder.path.mkdir()
        config = RunConfig(search=search)
        with closing(open_session(config, run_folder, silent)) as session, closing(run_folder.open_store()) as store:
            yield Measurer(session, store)


@contextmanager
def measured_session(model: str, devices: str) -> Iterator[MeasuredSession]:
    """Open a session of a model on real devices, and measure its baselines.

    Args:
        model: name of a recipe, or a model file.
        devices: a name of `DEVICES`.

    Raises:
        UnavailableError: the devices are not here.
    """
    with opened_session(model, devices) as measurer:
        yield MeasuredSession(measurer, measure_baselines(measurer, measurer.session.config.measure, silent))


@contextmanager
def own_cache() -> Iterator[Path]:
    """Yield an empty folder; a folder in it is the user's cache folder for the while."""
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory() as text:
        os.environ[VARIABLE] = f"{text}/cache"
        try:
            yield Path(text)
        finally:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


def searched(
    model: str, folder: Path, time_s: float, budget: int | None, *, stages: bool, coarsener: str = "chains"
) -> RunResult:
    """Search for a placement on the CPU and the emulated GPU, as `ovplace optimize` does.

    Args:
        model: name of a recipe, or a model file.
        folder: of the run; there is none of that name yet.
        time_s: limit of the whole call in seconds.
        budget: placements at most; None for as many as there is time for.
        stages: whether placements are measured in stages, or whole.
        coarsener: forms the groups.
    """
    search = SearchConfig(
        model=str(saved_model(model, folder.with_suffix(".xml"))),
        device=EMULATED_GPU,
        emulate_gpu=True,
        budget=budget,
        time_s=time_s,
        stages=stages,
        coarsener=coarsener,
        early_exit=False,
    )
    return run(RunConfig(search=search), folder)
