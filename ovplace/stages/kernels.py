"""Kernels of the emulated GPU, compiled once for the stages that run them.

OpenVINO's GPU plugin can store what it compiles, in files named after a hash of options, driver and source. For models
of fixed shapes it does so only in the mode `OPTIMIZE_SIZE`. By default up to eight kernels are one program, and few
stages have the same eight, so hardly any program is found again. With one kernel in each, a stage compiles only the
kernels that no earlier stage had.

The plugin takes the number of kernels in a program from an environment variable alone. The folder is set in the same
way, because the property `CACHE_DIR` also makes Core store each stage as a whole.

Source: openvino `src/plugins/intel_gpu/src/graph/impls/ocl/kernels_cache.cpp` and
`src/inference/src/dev/plugin_config.cpp` (2026.4).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import openvino as ov

from ovplace.store.blobs import Blobs

_ONE_KERNEL_A_PROGRAM = {"OV_GPU_MAX_KERNELS_PER_BATCH": "1", "OV_CACHE_MODE": "OPTIMIZE_SIZE"}


def compile_with_kernels(blobs: Blobs, build: Callable[[], ov.CompiledModel]) -> ov.CompiledModel:
    """Compile a model for the emulated GPU, with the kernels that earlier compilations have stored.

    Args:
        blobs: the cache on disk, where the kernels are and new ones are added.
        build: compiles the model.

    Returns:
        The compiled model; a blob of it would lack the kernels. If the stored kernels cannot be used, they are deleted
        and it is compiled without.

    Raises:
        RuntimeError: it does not compile.
    """
    folder = blobs.lent()
    if folder is None:
        return build()
    before_ns = blobs.changed_ns()
    try:
        with _environment({**_ONE_KERNEL_A_PROGRAM, "OV_CACHE_DIR": str(folder)}), _quiet():
            compiled = build()
    except RuntimeError:
        compiled = build()
        blobs.drop_kernels()  # one is damaged, or another process is still writing it
        return compiled
    if blobs.changed_ns() != before_ns:  # reading a folder with ten thousand kernels takes longer than a small stage
        blobs.keep_kernels()
    return compiled


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what is written to standard output: the plugin prints each variable, several times a compilation."""
    c_library = ctypes.CDLL(None)
    nowhere, before = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    c_library.fflush(None)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        c_library.fflush(None)  # what it has left in its buffer
        os.dup2(before, 1)
        os.close(before)
        os.close(nowhere)
