"""The devices of a run: those that the user names, or else those of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.devices.syntax import DeviceRequest, check_together, from_tables, parse_devices
from ovplace.devices.variants import alias_name
from ovplace.errors import DeviceError, UsageError

_PRECISION = "INFERENCE_PRECISION_HINT"
_LOW_PRECISIONS = {"BF16": "bf16", "FP16": "f16"}
"""Capability -> precision that can be set beside f32, the better known first."""
_EMULATED = "OpenVINO's GPU plugin on an emulated GPU (Intel's OpenCL runtime for CPUs)"


@dataclass(frozen=True)
class Selection:
    """The devices of a run.

    Attributes:
        devices: in the order of HETERO's priorities.
        note: what the user has to know about this choice, "" where it is just what was asked for.
        simulated: name of the simulated machine that the devices are of, "" for real ones.
    """

    devices: tuple[Device, ...]
    note: str = ""
    simulated: str = ""


@dataclass(frozen=True)
class _Machine:
    available: tuple[Device, ...]
    emulate_gpu: bool | None
    emulation_problem: str

    @property
    def usable(self) -> tuple[Device, ...]:
        return tuple(device for device in self.available if "problem" not in device.facts)

    @property
    def real_gpus(self) -> list[str]:
        return [device.name for device in self.usable if device.plugin == "GPU"]

    @property
    def emulates(self) -> bool:
        """Whether `GPU` means the emulated one: never by itself where a real one is."""
        if self.emulate_gpu is None:
            return not self.real_gpus and not self.emulation_problem
        return self.emulate_gpu


def select(
    text: str,
    tables: Mapping[str, object],
    emulate_gpu: bool | None,
    available: Sequence[Device],
    emulation_problem: str,
) -> Selection:
    """Return the devices of a run.

    Args:
        text: the text of `-d`, "" for none.
        tables: the TOML tables of devices; `text` may name them, and without `text` they are all meant.
        emulate_gpu: True: the emulated GPU even beside a real one; False: never; None: where there is no real GPU.
        available: what `discover` found.
        emulation_problem: what `emulated_gpu.why_unavailable` said.

    Raises:
        UsageError: the text or the tables cannot be read, or the devices do not go together.
        DeviceError: a device is not on this machine, or the emulated GPU is asked for and cannot be had.
    """
    machine = _Machine(tuple(d for d in available if not d.emulated), emulate_gpu, emulation_problem)
    if emulate_gpu and emulation_problem:
        raise DeviceError(emulation_problem)
    requests = _requests(text, from_tables(tables))
    return _asked(requests, machine) if requests else _default(machine)


def among(text: str, machine: str, devices: Sequence[Device]) -> Selection:
    """Return the devices of a simulated machine, or those that `-d` names, in its order.

    Args:
        text: the text of `-d`, "" for all.
        machine: name of the machine.
        devices: its devices.

    Raises:
        UsageError: the text cannot be read, or sets properties, which a simulated device does not have.
        DeviceError: a device is not on the machine.
    """
    by_name = {device.name: device for device in devices}
    chosen = []
    for request in parse_devices(text) if text.strip() else ():
        if not request.is_bare:
            raise UsageError(f"device '{request.name}' has properties, a simulated one has none; name it without them")
        if request.name not in by_name:
            raise DeviceError(
                f"device '{request.name}' is not on the simulated machine '{machine}' (devices: {', '.join(by_name)})"
            )
        chosen.append(by_name[request.name])
    kept = tuple(chosen) or tuple(devices)
    listed = ", ".join(f"{device.name} is {device.facts['full_name']}" for device in kept)
    return Selection(kept, note=f"simulated machine {machine}: {listed}; no inference is run", simulated=machine)


def references(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Return what each physical device would be if left alone, where `devices` do not have that already.

    A run in f32 on a CPU whose own choice is bf16 must be compared with that choice too. The aliases returned have
    no properties. The emulated GPU has none: left alone it computes in f16, which is broken on it.
    """
    real = {device.base: device for device in devices if not device.emulated}
    plain = {device.base for device in devices if _is_left_alone(device)}
    return tuple(
        Device(alias_name(base, "DEFAULT"), base, facts=device.facts)
        for base, device in real.items()
        if base not in plain
    )


def _is_left_alone(device: Device) -> bool:
    default = device.facts.get("default_precision", "")
    return all(key == _PRECISION and value == default for key, value in device.properties.items())


def _requests(text: str, tables: Mapping[str, DeviceRequest]) -> list[DeviceRequest]:
    listed = parse_devices(text) if text.strip() else tuple(tables.values())
    requests = [tables.get(item.name, item) if item.is_bare else item for item in listed]
    check_together(requests)
    return requests


def _asked(requests: Sequence[DeviceRequest], machine: _Machine) -> Selection:
    devices = tuple(_resolve(request, machine) for request in requests)
    notes = []
    if any(device.emulated for device in devices):
        notes.append(f"GPU is {_EMULATED}{_hidden(machine)}{_precision_notes(devices)}")
    elif machine.emulate_gpu:
        notes.append("the emulated GPU is not used: no GPU is among the devices asked for")
    if any(device.plugin == "NPU" for device in devices):
        notes.append("OpenVINO's documentation does not list NPU as usable under HETERO")
    return Selection(devices, "; ".join(notes))


def _resolve(request: DeviceRequest, machine: _Machine) -> Device:
    if machine.emulates and request.base in ("GPU", "GPU.0"):
        return emulated_gpu.emulated_device(request.name, request.base, request.properties)
    by_name = {device.name: device for device in machine.available}
    # GPU and GPU.0 are the same device; OpenVINO lists one of the two names, depending on how many there are.
    physical = by_name.get(request.base) or by_name.get(f"{request.base}.0")
    if physical is None and request.base.endswith(".0"):
        physical = by_name.get(request.base.removesuffix(".0"))
    if physical is None or (machine.emulates and physical.plugin == "GPU"):
        raise DeviceError(_unknown(request, machine))
    if problem := physical.facts.get("problem", ""):
        raise DeviceError(f"device '{request.base}' cannot be used: {problem}; see 'ovplace devices'")
    return Device(request.name, request.base, request.properties, physical.facts)


def _unknown(request: DeviceRequest, machine: _Machine) -> str:
    listed = ", ".join(device.name for device in machine.available) or "none"
    base = request.base
    if base.startswith("GPU.") and machine.emulates:
        advice = "the emulated GPU is the only GPU and is called GPU"
    elif base == "GPU" and machine.emulate_gpu is False:
        advice = "the emulated GPU is switched off"
    elif base == "GPU":
        advice = machine.emulation_problem
    elif "_" in base:
        advice = f"say what it stands for: -d '{base}={base.split('_')[0]}{{KEY:VALUE}}'"
    elif base != base.upper():
        advice = "device names are written in capitals"
    else:
        advice = "see 'ovplace devices'"
    return f"device '{base}' is not on this machine (devices: {listed}); {advice}"


def _default(machine: _Machine) -> Selection:
    usable = [device for device in machine.usable if device.plugin != "NPU"]
    if not usable:
        raise DeviceError("OpenVINO finds no device it can use here; see 'ovplace doctor'")
    chosen = _pick(sorted(usable, key=_priority), machine)
    left_out = [device.name for device in machine.usable if device.plugin == "NPU"]
    if not left_out:
        return chosen
    note = f"{', '.join(left_out)} left out: not usable under HETERO as documented; name it with -d to try"
    return Selection(chosen.devices, "; ".join(filter(None, (chosen.note, note))))


def _priority(device: Device) -> tuple[bool, bool]:
    """Accelerators before the CPU, discrete ones first, as HETERO's documentation and AUTO order them."""
    return device.plugin == "CPU", device.facts.get("kind") != "discrete"


def _pick(usable: Sequence[Device], machine: _Machine) -> Selection:
    only = usable[-1]
    if machine.emulates and only.plugin == "CPU":
        why = "as asked for" if machine.real_gpus else "no GPU found"
        note = f"{why}: using {_EMULATED} beside the CPU, both in f32{_hidden(machine)}"
        return Selection((emulated_gpu.emulated_device(), _at(only, only.name, "f32")), note)
    if len(usable) > 1:
        return Selection(tuple(usable))
    return _precisions(only, machine)


def _precisions(only: Device, machine: _Machine) -> Selection:
    found = f"only {only.name} found" + (f" ({machine.emulation_problem})" if machine.emulate_gpu is None else "")
    capabilities = only.facts.get("capabilities", "").split()
    low = next((text for name, text in _LOW_PRECISIONS.items() if name in capabilities), "")
    if not low:
        return Selection((only,), note=f"{found}, in one precision: there is nothing to choose")
    pair = tuple(_at(only, alias_name(only.name, precision.upper()), precision) for precision in (low, "f32"))
    return Selection(pair, note=f"{found}: choosing between {only.name} in {low} and in f32; outputs differ with it")


def _at(device: Device, name: str, precision: str) -> Device:
    return Device(name, device.base, {_PRECISION: precision}, device.facts)


def _hidden(machine: _Machine) -> str:
    return f"; it hides {', '.join(machine.real_gpus)}" if machine.real_gpus else ""


def _precision_notes(devices: Sequence[Device]) -> str:
    """Return what to say of precisions that make the comparison with the emulated GPU's f32 unfair, or wrong."""
    notes = ""
    for device in devices:
        default = device.facts.get("default_precision", "f32")
        if device.emulated and device.precision != "f32":
            notes += f"; {device.precision} on it is slow and gives NaN on some models"
        if device.plugin == "CPU" and device.precision == "default" and default != "f32":
            notes += f"; it computes in f32 and {device.name} in {default}, 'CPU{{{_PRECISION}:f32}}' makes them equal"
    return notes
