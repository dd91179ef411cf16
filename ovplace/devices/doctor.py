"""The devices that OpenVINO sees here, those that are installed but invisible to it, and commands that mend it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.devices.discover import intel_nodes, is_intel
from ovplace.devices.openvino_version import old_version, remedy

NPU_RELEASES = "https://github.com/intel/linux-npu-driver/releases"

_DISPLAY, _ACCELERATOR = "0x03", "0x12"
"""First digits of PCI classes: display controllers and processing accelerators."""

_CPU_PLUGIN = {"CPU": "openvino_*_cpu_plugin"}  # of intel or of arm
_FURTHER_PLUGINS = {"GPU": "openvino_intel_gpu_plugin", "NPU": "openvino_intel_npu_plugin"}

_LIBRARY_FOLDERS = ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/lib", "lib/x86_64-linux-gnu")
_OPENCL = {"apt": "intel-opencl-icd", "dnf": "intel-compute-runtime", "pacman": "intel-compute-runtime"}
_LOADER = {"apt": "ocl-icd-libopencl1", "dnf": "ocl-icd", "pacman": "ocl-icd"}
_INSTALL = {"apt": "sudo apt install", "dnf": "sudo dnf install", "pacman": "sudo pacman -S"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: what it is about: a device, `plugins`, or `OpenVINO`.
        good: whether there is nothing to mend.
        text: what was found.
        command: what fixes it; empty where there is nothing to fix, or no command for it.
    """

    subject: str
    good: bool
    text: str
    command: str = ""


@dataclass(frozen=True)
class Host:
    """The machine to look at.

    Attributes:
        root: the root of the file system, another one in tests.
        platform: as `sys.platform`.
        openvino: folder of OpenVINO's Python package.
        version: of OpenVINO, as it gives it.
        groups: numbers of the groups that this process is in.
        processor: as `platform.machine()`.
    """

    root: Path
    platform: str
    openvino: Path
    version: str
    groups: tuple[int, ...]
    processor: str

    @property
    def plugins(self) -> Path:
        """Folder of OpenVINO's libraries, where pip installed it."""
        return self.openvino / "libs"

    @property
    def expected_plugins(self) -> dict[str, str]:
        """Files of the plugins that OpenVINO has for such a host (its `cmake/features.cmake`), by device."""
        further = self.processor in ("x86_64", "AMD64") and self.platform != "darwin"
        return _CPU_PLUGIN | (_FURTHER_PLUGINS if further else {})

    @property
    def is_wsl(self) -> bool:
        """Whether this is Linux under Windows."""
        return "microsoft" in _text(self.root / "proc/version").lower()

    @property
    def is_container(self) -> bool:
        """Whether this is a container, which sees only the devices that it was given."""
        return any((self.root / name).exists() for name in (".dockerenv", "run/.containerenv"))

    def library(self, name: str) -> bool:
        """Return whether a shared library is installed whose file name begins with `name`."""
        return any(next((self.root / folder).glob(f"{name}*"), None) for folder in _LIBRARY_FOLDERS)

    def on_pci(self, kind: str) -> bool:
        """Return whether an Intel device of a PCI class is there, seen by a driver or not."""
        return any(
            is_intel(device) and _text(device / "class").startswith(kind)
            for device in (self.root / "sys/bus/pci/devices").glob("*")
        )

    def install(self, packages: dict[str, str]) -> str:
        """Return the command that installs a package, by the package manager that is there; empty for none."""
        found = next((manager for manager in _INSTALL if (self.root / "usr/bin" / manager).exists()), "")
        return f"{_INSTALL[found]} {packages[found]}" if found else ""


def this_host() -> Host:
    """Return the machine of this process."""
    import openvino as ov

    groups = tuple(os.getgroups()) if hasattr(os, "getgroups") else ()
    return Host(Path("/"), sys.platform, Path(ov.__file__).parent, ov.get_version(), groups, platform.machine())


def examine(devices: Sequence[Device], host: Host) -> tuple[Finding, ...]:
    """Return what is to be said of a host: OpenVINO and the devices that it sees first.

    Args:
        devices: what `discover` found.
        host: where to look.
    """
    return (_openvino(host), *map(_seen, devices), *lacking(devices, host))


def lacking(devices: Sequence[Device], host: Host) -> tuple[Finding, ...]:
    """Return why OpenVINO does not see further kinds of device; good where there is nothing to mend.

    Args:
        devices: what `discover` found.
        host: where to look.
    """
    seen = {device.plugin for device in devices if "problem" not in device.facts}
    found = [*_plugins(host)]
    if "GPU" not in seen:
        found.append(_gpu(host))
    if "NPU" not in seen:
        found.append(_npu(host))
    if "GPU" not in seen:
        found.append(_emulated())
    return tuple(found)


def _openvino(host: Host) -> Finding:
    if number := old_version(host.version):
        text = f"OpenVINO {number} in {host.openvino} is older than what ovplace is made for"
        return Finding("OpenVINO", False, text, remedy(host.openvino))
    return Finding("OpenVINO", True, f"OpenVINO {host.version.partition('-')[0]} in {host.openvino}")


def _seen(device: Device) -> Finding:
    if problem := device.facts.get("problem", ""):
        return Finding(device.name, False, f"OpenVINO lists {device.name}, but it does not answer: {problem}")
    driver = f", driver {device.facts['driver']}" if "driver" in device.facts else ""
    return Finding(device.name, True, f"OpenVINO sees {device.name}: {device.facts.get('full_name', '')}{driver}")


def _plugins(host: Host) -> Iterator[Finding]:
    for plugin, name in host.expected_plugins.items():
        if not any(host.plugins.glob(f"*{name}*")) and _has_plugins(host):
            text = f"this OpenVINO has no {plugin} plugin in {host.plugins}"
            yield Finding("plugins", False, text, "pip install --force-reinstall openvino")


def _has_plugins(host: Host) -> bool:
    """Return whether OpenVINO's plugins lie where they are looked for; systems' own packages have them elsewhere."""
    return any(host.plugins.glob("*openvino*plugin*"))


def _gpu(host: Host) -> Finding:
    if host.platform == "win32":
        return Finding("GPU", False, "OpenVINO sees no Intel GPU; if there is one, its graphics driver is missing")
    if host.is_wsl:
        return _gpu_of_wsl(host)
    nodes = intel_nodes(host.root, "dri/renderD*", "drm")
    if not nodes:
        return _no_node(host, "GPU", _DISPLAY, "/dev/dri", "sudo modprobe xe || sudo modprobe i915")
    return _closed(host, "GPU", nodes) or _opencl(host, str(nodes[0].relative_to(host.root)))


def _gpu_of_wsl(host: Host) -> Finding:
    if not (host.root / "dev/dxg").exists():
        text = "this is WSL, and Windows gives it no GPU: there is no /dev/dxg"
        return Finding("GPU", False, text, "wsl.exe --update && wsl.exe --shutdown")
    if not (host.root / "usr/lib/wsl/lib/libdxcore.so").exists():
        text = "this is WSL, and Windows' GPU driver is not mounted into it; install Intel's graphics driver in Windows"
        return Finding("GPU", False, text, "wsl.exe --shutdown")
    return _opencl(host, "dev/dxg")


def _opencl(host: Host, node: str) -> Finding:
    """Return what is wrong with OpenCL, by which OpenVINO reaches a GPU."""
    driver, command = _opencl_driver(host), host.install(_OPENCL)
    if not host.library("libOpenCL.so.1"):
        text = f"/{node} is there, but OpenCL's loader libOpenCL.so.1 is not installed"
        command = host.install(_LOADER)
    elif driver is None:
        text = f"/{node} is there, but Intel's OpenCL driver is not installed: /etc/OpenCL/vendors names none"
    elif not _is_there(host, driver):
        text = f"Intel's OpenCL driver is registered, but {driver} is missing: install it again"
    else:
        text = (
            f"/{node} and Intel's OpenCL driver are there, but OpenVINO sees no GPU: the driver may be too old for it"
        )
    return Finding("GPU", False, text, command)


def _opencl_driver(host: Host) -> Path | None:
    """Return the library that is registered as Intel's OpenCL driver for GPUs; None where there is none."""
    registered = map(_text, sorted((host.root / "etc/OpenCL/vendors").glob("*.icd")))
    return next((Path(library) for library in registered if "igdrcl" in library), None)


def _is_there(host: Host, library: Path) -> bool:
    if library.is_absolute():
        return (host.root / library.relative_to("/")).exists()
    return host.library(library.name)


def _npu(host: Host) -> Finding:
    if host.platform == "win32":
        return Finding("NPU", False, "OpenVINO sees no Intel NPU; if there is one, Windows Update has its driver")
    if host.is_wsl:
        return Finding("NPU", True, "this is WSL, which has no access to NPUs; use OpenVINO under Windows for them")
    nodes = intel_nodes(host.root, "accel/accel*", "accel")
    if not nodes:
        return _no_node(host, "NPU", _ACCELERATOR, "/dev/accel", "sudo modprobe intel_vpu")
    if closed := _closed(host, "NPU", nodes):
        return closed
    node = f"/{nodes[0].relative_to(host.root)}"
    if host.library("libze_intel_npu.so") or host.library("libze_intel_vpu.so"):
        text = f"{node} and its driver are there, but OpenVINO sees no NPU: the driver may be too old for it; take one"
    else:
        text = f"{node} is there, but its driver libze_intel_npu.so is not installed; take it"
    return Finding("NPU", False, f"{text} from {NPU_RELEASES}")


def _no_node(host: Host, device: str, pci_class: str, folder: str, load: str) -> Finding:
    """Return why there is no device node: there is no such device, it was not passed on, or it has no kernel driver."""
    if not host.on_pci(pci_class):
        return Finding(device, True, f"there is no Intel {device} in this machine")
    if host.is_container:
        text = f"there is an Intel {device}, but this container was not given {folder}; start it with the device"
        return Finding(device, False, text, f"docker run --device {folder} ...")
    text = f"there is an Intel {device} on the PCI bus, but no {folder}: its kernel driver is not loaded"
    return Finding(device, False, text, load)


def _closed(host: Host, device: str, nodes: Sequence[Path]) -> Finding | None:
    """Return why no node can be opened; None where one can."""
    if any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        return None
    number = nodes[0].stat().st_gid
    group, members = _group(host, number)
    node = f"/{nodes[0].relative_to(host.root)}"
    if number not in host.groups and os.environ.get("USER", "") in members:
        text = f"no permission to open {node}: you are in the group {group}, but this session began before that"
        return Finding(device, False, text, f"newgrp {group}")
    text = f"no permission to open {node}, which belongs to the group {group}; then log in again"
    return Finding(device, False, text, f"sudo usermod -a -G {group} $USER")


def _group(host: Host, number: int) -> tuple[str, list[str]]:
    """Return the name of a group and its members; `render` where /etc/group does not know it."""
    for line in _text(host.root / "etc/group").splitlines():
        fields = line.split(":")
        if len(fields) == 4 and fields[2] == str(number):
            return fields[0], fields[3].split(",") if fields[3] else []
    return "render", []


def _emulated() -> Finding:
    if problem := emulated_gpu.why_unavailable():
        helps = emulated_gpu.INSTALL in problem
        return Finding("emulated GPU", False, problem, emulated_gpu.INSTALL if helps else "")
    return Finding("emulated GPU", True, "the emulated GPU is installed: ovplace uses it where there is no real one")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
