"""Calibration of the simulated machine of HSDAG's paper to its single-device latencies.

First one set of global parameters: peaks and bandwidths from data sheets stay, the part of the peak that is reached and
the cost of a launch are fitted to the three latencies of each device, within plausible bounds; `global, fitted` shows
what that leaves unexplained, `global, in the file` the same for the machine's file. Then one factor for each model and
device makes the six latencies exact. Fails where the file says something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from benchmarks.hsdag_paper import DEVICES, MACHINE, PUBLISHED_MS, paper_models
from benchmarks.report import Row
from benchmarks.searches.place import Place
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.errors import OvplaceError
from ovplace.ir.read import own_name
from ovplace.simulation.machine import SimulatedMachine
from ovplace.simulation.machine_file import load_machine

BOUNDS = {"GPU": ((0.01, 0.6), (2.0, 20.0)), "CPU": ((0.1, 0.9), (0.5, 10.0))}
"""Of the efficiency and of the launch in us."""

AGREES = 0.005
"""Relative difference from the published latencies that rounding explains."""

Models = Mapping[str, Place]


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: of the paper; all if there are none.
    """

    models: tuple[str, ...] = ()


SHORT = Options(models=("resnet-50",))


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and device.

    Raises:
        OvplaceError: the machine's file does not agree.
    """
    machine = load_machine(MACHINE)
    plain = replace(machine, calibration={})
    with paper_models(options.models) as models:
        fitted, wanted = fit(plain, models), factors(machine, models)
        for name, place in models.items():
            for device in DEVICES:
                published, found = PUBLISHED_MS[name][device], single_ms(machine, place, device)
                if abs(found / published - 1) > AGREES:
                    raise OvplaceError(f"{MACHINE}: {name} on {device} takes {found:.3f} ms, published {published} ms")
                yield {
                    "model": name,
                    "device": device,
                    "published, ms": published,
                    "simulated, ms": found,
                    "global, fitted": f"{single_ms(fitted, place, device) / published - 1:+.1%}",
                    "global, in the file": f"{single_ms(plain, place, device) / published - 1:+.1%}",
                    "factor": wanted[name][device],
                    "factor in the file": machine.calibration.get(name, {}).get(device, 1.0),
                }
    for simulated in fitted.devices:
        if simulated.name in DEVICES:
            text = f"efficiency {simulated.efficiency:.4f}, launch {simulated.launch_us:.2f} us"
            yield {"model": "global parameters", "device": simulated.name, "global, fitted": text}


def single_ms(machine: SimulatedMachine, place: Place, device: str) -> float:
    """Return the latency of a model on one device.

    Args:
        machine: the simulated machine, in the place of that of `place`.
        place: the model.
        device: name of the device.
    """
    table = machine.table(place.graph, place.legal, own_name(place.path))
    return float(latency_ms(table, np.full((1, table.n_groups), machine.names.index(device)))[0])


def fit(machine: SimulatedMachine, models: Models) -> SimulatedMachine:
    """Return the machine with the efficiency and the launch cost of each device that come nearest, in logarithms.

    Args:
        machine: without calibration.
        models: by name.
    """
    for device, bounds in BOUNDS.items():

        def residuals(x: np.ndarray, device: str = device, machine: SimulatedMachine = machine) -> list[float]:
            tried = _with_parameters(machine, device, *np.exp(x))
            return [np.log(single_ms(tried, of, device) / PUBLISHED_MS[name][device]) for name, of in models.items()]

        low, high = np.log(bounds).T
        found = least_squares(residuals, (low + high) / 2, bounds=(low, high), diff_step=1e-3)
        machine = _with_parameters(machine, device, *np.exp(found.x))
    return machine


def factors(machine: SimulatedMachine, models: Models) -> Mapping[str, Mapping[str, float]]:
    """Return the factor on the operations' time by which each latency becomes the published one.

    Args:
        machine: its calibration is ignored.
        models: by name.

    Returns:
        By model and device.
    """
    plain = replace(machine, calibration={})
    overhead = {device.name: device.submodel_us / 1e3 for device in machine.devices}
    return {
        name: {
            device: (PUBLISHED_MS[name][device] - overhead[device])
            / (single_ms(plain, place, device) - overhead[device])
            for device in DEVICES
        }
        for name, place in models.items()
    }


def _with_parameters(machine: SimulatedMachine, device: str, efficiency: float, launch_us: float) -> SimulatedMachine:
    changed = [
        replace(d, efficiency=efficiency, launch_us=launch_us) if d.name == device else d for d in machine.devices
    ]
    return replace(machine, devices=tuple(changed))
