"""The configuration of a run for this machine, with the devices that the run had and no others."""

from __future__ import annotations

from dataclasses import replace

from ovplace.config.schema import RunConfig
from ovplace.core.result.run_result import RunResult


def on_this_machine(config: RunConfig) -> RunConfig:
    """Return the configuration of a run that measures here, also where the run measured on a fleet.

    Args:
        config: its configuration.
    """
    return replace(config, search=replace(config.search, cluster=""))


def with_own_devices(config: RunConfig, result: RunResult) -> RunConfig:
    """Return the same with the name of each device of the run, also where the run chose them by itself.

    Args:
        config: its configuration.
        result: its result.
    """
    tables: dict[str, object] = {d.name: {"base": d.base, "properties": dict(d.properties)} for d in result.devices}
    emulated = any(device.emulated for device in result.devices)
    simulated = bool(result.environment.simulated)
    here = on_this_machine(config)
    search = replace(here.search, device=",".join(result.device_names), emulate_gpu=None if simulated else emulated)
    return replace(here, search=search, devices={} if simulated else tables)
