"""Sentences on what a format cannot carry of a placement."""

from __future__ import annotations

from collections.abc import Sequence

from ovplace.core.device import Device


def emulated_only_in_python(devices: Sequence[Device]) -> tuple[str, ...]:
    """Return that the emulated GPU among `devices` is found in Python programs only."""
    names = [device.name for device in devices if device.emulated]
    if not names:
        return ()
    return (f"{', '.join(names)} was the emulated GPU, which only Python has; elsewhere the name means a real GPU",)


def unregistered(devices: Sequence[Device], consumer: str) -> tuple[str, ...]:
    """Return which of `devices` a program cannot set up that registers no variants and sets no properties.

    Args:
        devices: the devices of the placement.
        consumer: the program.
    """
    variants = [f"{device.name} ({_described(device)})" for device in devices if device.is_variant]
    changed = [f"{device.name} without {_properties(device)}" for device in devices if _is_changed(device)]
    lines = []
    if variants:
        lines.append(f"{consumer} registers no variants, so it cannot load this placement: {', '.join(variants)}")
    if changed:
        lines.append(f"{consumer} sets no properties, so it will run {', '.join(changed)}")
    return tuple(lines)


def _described(device: Device) -> str:
    return f"{device.base} with {_properties(device)}" if device.properties else device.base


def _is_changed(device: Device) -> bool:
    return bool(device.properties) and not device.is_variant


def _properties(device: Device) -> str:
    return ", ".join(f"{key}:{value}" for key, value in device.properties.items())
