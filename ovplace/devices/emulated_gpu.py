"""OpenVINO's own GPU plugin on a machine that has no GPU.

The plugin accepts any OpenCL device whose type is GPU. Intel's OpenCL runtime for CPUs (PyPI: intel-opencl-rt,
intel-cmplr-lib-rt, tbb) is a complete OpenCL 3 implementation with USM, except that it calls itself a CPU. `enable`
loads that runtime and replaces four entries of its dispatch table (opencl_patch.py), so that OpenVINO sees a GPU.
Everything else is real: the plugin's graph passes, its kernels, its memory handling, HETERO's boundaries.

Six rules, each found by running (openvino 2026.4.1, intel-opencl-rt 2026.2.0, Linux x86-64):

1. `enable` runs before the process first imports openvino. openvino carries an older libtbb.so.12 under the same
   soname; whichever is loaded first wins, and with the older one the runtime silently finds no device.
2. The Intel sub-group extensions are hidden. With them the plugin picks its block-read kernels, which give wrong
   numbers on this runtime for MatMul and Convolution, as wrong as the signal is large. Without them it picks plain
   OpenCL kernels, which are right.
3. The device claims an architecture that oneDNN knows and that has no systolic unit (12.0.0, Xe-LP); else the plugin
   drops the device.
4. `clReleaseProgram` releases nothing. The plugin releases a program while its kernels live and asks for it again,
   which this runtime refuses (CL_INVALID_PROGRAM). It leaks 5 to 10 MB a compiled small model: recycle the process.
5. Inference runs in f32. f16 on this runtime is emulated, very slow, and gives NaN on some models, and f16 is the
   plugin's default.
6. `clGetEventProfilingInfo` waits until the times of a kernel are there. The plugin asks for them (PERF_COUNT) as soon
   as the kernel is done, when this runtime may not have them yet, and the inference fails.

The device also gets another name, so that whatever prints FULL_DEVICE_NAME tells it from a real GPU.
"""

from __future__ import annotations

import ctypes as c
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

from ovplace.core.device import Device
from ovplace.devices.opencl_patch import patch
from ovplace.errors import DeviceError

INSTALL = "pip install 'ovplace[emulated-gpu]'"
FULL_NAME = "emulated GPU (OpenVINO GPU plugin on Intel's OpenCL runtime for CPUs)"

_LIBRARIES = {  # library -> distribution that carries it; the order is the order of loading
    "libtbb.so.12": "tbb",
    "libirng.so": "intel-cmplr-lib-rt",
    "libintlc.so.5": "intel-cmplr-lib-rt",
    "libimf.so": "intel-cmplr-lib-rt",
    "libsvml.so": "intel-cmplr-lib-rt",
    "libOpenCL.so.1": "intel-opencl-rt",
    "libintelocl.so": "intel-opencl-rt",
}
_DRIVER = "libintelocl.so"  # loaded by the OpenCL loader, not by us
_LOADER = "libOpenCL.so.1"

_OPENCL_NAME = b"emulated GPU on Intel's OpenCL runtime for CPUs"
_alive: list[object] = []  # what the patched driver uses; not empty once enabled


def emulated_device(name: str = "GPU", base: str = "GPU", properties: Mapping[str, str] | None = None) -> Device:
    """Return the emulated GPU, in f32 unless `properties` ask for another INFERENCE_PRECISION_HINT.

    Args:
        name: name in affinities.
        base: the plugin's device name, such as `GPU` or `GPU.0`.
        properties: device properties, which win over the precision.
    """
    return Device(
        name,
        base,
        {"INFERENCE_PRECISION_HINT": "f32", **(properties or {})},
        {
            "full_name": FULL_NAME,
            "kind": "emulated",
            "capabilities": "FP32",
            "default_precision": "f16",
            "driver": _driver(),
        },
        emulated=True,
    )


def why_unavailable() -> str:
    """Return why there can be no emulated GPU here and what to do, or "" where there can; loads nothing."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return f"the emulated GPU needs Linux on x86-64, this is {sys.platform} on {platform.machine()}"
    missing = sorted({package for library, package in _LIBRARIES.items() if _find(library) is None})
    if missing:
        return f"the emulated GPU needs {', '.join(missing)}; {INSTALL}"
    return ""


def is_enabled() -> bool:
    """Whether this process's `GPU` is the emulated one."""
    return bool(_alive)


def enable() -> None:
    """Make the emulated GPU this process's only GPU; a real one disappears. A second call does nothing.

    Raises:
        DeviceError: no platform or library for it, or openvino's libraries are loaded already.

    Example:
        >>> import ovplace
        >>> ovplace.enable_emulated_gpu()
        >>> import openvino
        >>> openvino.Core().get_property("GPU", "FULL_DEVICE_NAME")
        "emulated GPU on Intel's OpenCL runtime for CPUs ..."
    """
    if is_enabled():
        return
    if problem := why_unavailable() or _too_late():
        raise DeviceError(problem)
    only = {"OCL_ICD_FILENAMES": str(_path(_DRIVER)), "OCL_ICD_VENDORS": os.devnull}  # no other OpenCL platform
    before = {name: os.environ[name] for name in only if name in os.environ}
    os.environ.update(only)
    try:
        loaded = {name: c.CDLL(str(_path(name)), mode=c.RTLD_GLOBAL) for name in _LIBRARIES if name != _DRIVER}
        _alive.extend((loaded, *patch(loaded[_LOADER], _OPENCL_NAME)))
    except (OSError, AttributeError) as error:
        for name in only:  # child processes must find a real GPU
            del os.environ[name]
        os.environ.update(before)
        raise DeviceError(f"the emulated GPU's OpenCL runtime cannot be loaded: {error}; {INSTALL}") from error


def _driver() -> str:
    try:
        return f"intel-opencl-rt {version('intel-opencl-rt')}"
    except PackageNotFoundError:
        return "intel-opencl-rt"


def _find(library: str) -> Path | None:
    """Return where a library lies; wheels put these outside site-packages, in the installation's lib folder."""
    try:
        found = _recorded(distribution(_LIBRARIES[library]), library)
    except PackageNotFoundError:
        found = []
    return next((path for path in (*found, Path(sys.prefix) / "lib" / library) if path.is_file()), None)


def _recorded(package: Distribution, library: str) -> list[Path]:
    return [Path(str(package.locate_file(file))).resolve() for file in package.files or () if file.name == library]


def _path(library: str) -> Path:
    found = _find(library)
    assert found is not None, library  # why_unavailable has looked
    return found


def _too_late() -> str:
    """Return why the runtime can no longer be loaded into this process, or ""."""
    if "openvino" in sys.modules:
        return (
            "the emulated GPU must be enabled before openvino is imported; call ovplace.enable_emulated_gpu() first "
            "in a new process, or in a notebook after a restart of its kernel"
        )
    mapped = {line.split(maxsplit=5)[5].strip() for line in _memory_map() if line.count("/")}
    for library in ("libtbb.so.12", _LOADER):
        own = _path(library).resolve()
        for other in sorted(mapped):
            if Path(other).name.startswith(library) and Path(other).resolve() != own:
                return f"the emulated GPU needs its own {library}, but {other} is loaded; start a new process for it"
    return ""


def _memory_map() -> list[str]:
    return Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
