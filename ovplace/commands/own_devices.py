"""The configuration of a run with the devices that it had, whatever else there is on this machine."""

from __future__ import annotations

from dataclasses import replace

from ovplace.config.schema import RunConfig
from ovplace.core.result.run_result import RunResult


def with_own_devices(config: RunConfig, result: RunResult) -> RunConfig:
    """Return the configuration of a run that names each of its devices, also where the run chose them by itself.

    Args:
        config: its configuration.
        result: its result.
    """
    tables: dict[str, object] = {d.name: {"base": d.base, "properties": dict(d.properties)} for d in result.devices}
    emulated = any(device.emulated for device in result.devices)
    simulated = bool(result.environment.simulated)
    search = replace(config.search, device=",".join(result.device_names), emulate_gpu=None if simulated else emulated)
    return replace(config, search=search, devices={} if simulated else tables)
