"""Sessions on real devices, for benchmarks that measure."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.script import UnavailableError
from ovplace import zoo
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.devices import emulated_gpu
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.session.session import open_session
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


@contextmanager
def opened_session(model: str, devices: str) -> Iterator[Measurer]:
    """Open a session of a recipe on real devices.

    Args:
        model: name of a recipe.
        devices: a name of `DEVICES`.

    Raises:
        UnavailableError: the devices are not here.
    """
    emulated = "emulated" in devices
    if emulated and (reason := emulated_gpu.why_unavailable()):
        raise UnavailableError(reason)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        zoo.save_recipe(model, zoo.recipe(model).Config(), folder / f"{model}.xml")
        search = SearchConfig(
            model=str(folder / f"{model}.xml"),
            device=DEVICES[devices],
            emulate_gpu=True if emulated else None,
            early_exit=False,
        )
        run = RunFolder(folder / "run")
        run.path.mkdir()
        config = RunConfig(search=search)
        with closing(open_session(config, run, silent)) as session, closing(run.open_store()) as store:
            yield Measurer(session, store)


@contextmanager
def measured_session(model: str, devices: str) -> Iterator[MeasuredSession]:
    """Open a session of a recipe on real devices, and measure its baselines.

    Args:
        model: name of a recipe.
        devices: a name of `DEVICES`.

    Raises:
        UnavailableError: the devices are not here.
    """
    with opened_session(model, devices) as measurer:
        yield MeasuredSession(measurer, measure_baselines(measurer, measurer.session.config.measure, silent))
