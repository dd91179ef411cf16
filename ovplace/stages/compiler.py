"""Compiling through a cache on disk.

OpenVINO's own `CACHE_DIR` caches no submodel of HETERO, only whole placements, so blobs are exported and imported here:
the emulated GPU compiles the 146 operations of the demo in 4.8 s and imports their blob in 0.2 s, the CPU 0.28 and
0.1 s. Parts of a model on the emulated GPU are compiled from stored kernels instead (`kernels.py`).
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter

import openvino as ov

from ovplace.core.device import Device
from ovplace.core.placement import Placement
from ovplace.ir.affinity import compile_placement
from ovplace.ir.shared_executor import import_placed, submodel_properties
from ovplace.stages.kernels import compile_with_kernels
from ovplace.store.blobs import Blobs

_Import = Callable[[bytes], ov.CompiledModel]

_F32 = {"INFERENCE_PRECISION_HINT": "f32"}

FORMAT = 2
"""Version of what blobs are made of; those of another version are not found."""

WORTH_S = 0.1
"""Models that compile faster are not stored: reading one back takes about as long."""

BYTES_PER_S = 200e6
"""Compiling must have taken longer than writing and reading the blob at this pace, too."""


class Compiler:
    """Compiles one model, its parts and its placements, or imports what an earlier process compiled."""

    def __init__(self, core: ov.Core, blobs: Blobs, identity: object) -> None:
        """Set it up.

        Args:
            core: the Core in which the devices are registered.
            blobs: the cache on disk.
            identity: what all blobs depend on, as JSON can hold it: the model's content hash and OpenVINO's version.
        """
        self._core, self._blobs, self._identity = core, blobs, identity
        blobs.drop_unfinished_kernels()  # of a process that was killed

    def compile(self, model: ov.Model, ops: Sequence[int], device: Device) -> ov.CompiledModel:
        """Return a model compiled for one device: from its blob, else compiled now.

        A part on the emulated GPU is compiled from stored kernels.

        Args:
            model: the whole model, or some operations of it as a model of their own.
            ops: indices of these operations, sorted; empty for the whole model.
            device: a registered device.

        Raises:
            RuntimeError: it does not compile.
        """
        properties = submodel_properties(self._core, device.name) if ops else {}
        build = partial(self._core.compile_model, model, device.name, properties)
        if ops and device.emulated:
            return compile_with_kernels(self._blobs, build)
        return self._imported_or_built(
            self._key(list(ops), device.to_dict()),
            lambda blob: self._core.import_model(blob, device.name, properties),
            build,
        )

    def compile_reference(self, model: ov.Model) -> ov.CompiledModel:
        """Return a model compiled for the CPU in f32, by a Core of its own: the run may set properties on its CPU.

        Raises:
            RuntimeError: it does not compile.
        """
        core = ov.Core()
        return self._imported_or_built(
            self._key("reference", [str(core.get_property("CPU", "FULL_DEVICE_NAME")), _F32]),
            lambda blob: core.import_model(blob, "CPU", _F32),
            partial(core.compile_model, model, "CPU", _F32),
        )

    def compile_placement(
        self, model: ov.Model, placement: Placement, devices: Mapping[str, Device]
    ) -> ov.CompiledModel:
        """Return the whole model compiled by HETERO, with each operation on its device.

        Args:
            model: the whole model, of N operations.
            placement: the device of each operation, `[N]`, on several devices.
            devices: the devices of the run, by name.

        Raises:
            PlacementError: model and placement have different numbers of operations.
            RuntimeError: it does not compile.
        """
        used = [devices[name].to_dict() for name in sorted(placement.used)]
        return self._imported_or_built(
            self._key(placement.hash, used),
            lambda blob: import_placed(self._core, blob, placement.used),
            partial(compile_placement, self._core, model, placement),
        )

    def compile_automatic(self, model: ov.Model, target: str, devices: Sequence[Device]) -> ov.CompiledModel:
        """Return the whole model on the devices that OpenVINO chooses.

        Args:
            model: the whole model.
            target: HETERO or AUTO with the names of devices, such as `HETERO:GPU,CPU`.
            devices: all of the run: automatic modes name GPUs by what the process used first.

        Raises:
            RuntimeError: it does not compile.
        """
        if target.startswith("AUTO"):
            return self._chosen_by_auto(model, target)
        return self._imported_or_built(
            self._key(target, [device.to_dict() for device in devices]),
            lambda blob: import_placed(self._core, blob, [device.name for device in devices]),
            partial(self._core.compile_model, model, target),
        )

    def _chosen_by_auto(self, model: ov.Model, target: str) -> ov.CompiledModel:
        """Compile with AUTO, which exports nothing, and so through OpenVINO's own cache."""
        # AUTO answers from the CPU until its choice is compiled; that would be timed by accident.
        settings: dict[str, object] = {"ENABLE_STARTUP_FALLBACK": False}
        if folder := self._blobs.lent():
            settings["CACHE_DIR"] = str(folder)
        compiled = self._core.compile_model(model, target, settings)
        self._blobs.keep_kernels()
        self._blobs.shrink()
        return compiled

    def _key(self, what: object, devices: object) -> str:
        text = json.dumps([FORMAT, self._identity, what, devices], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()

    def _imported_or_built(self, key: str, load: _Import, build: Callable[[], ov.CompiledModel]) -> ov.CompiledModel:
        blob = self._blobs.find(key)
        if blob is not None:
            try:
                return load(blob)
            except RuntimeError:  # of another driver, which the device did not tell
                self._blobs.drop(key)
        return self._built(key, build)

    def _built(self, key: str, build: Callable[[], ov.CompiledModel]) -> ov.CompiledModel:
        start = perf_counter()
        compiled = build()
        took_s = perf_counter() - start
        if took_s > WORTH_S and self._blobs.limit_bytes:
            with suppress(RuntimeError):  # not every plugin can export
                blob = io.BytesIO()
                compiled.export_model(blob)
                data = blob.getbuffer()
                if took_s > WORTH_S + len(data) / BYTES_PER_S:
                    self._blobs.keep(key, data)
        return compiled
