"""Compiling through a cache on disk.

OpenVINO's own `CACHE_DIR` caches no submodel of HETERO, only whole placements, so blobs are exported and imported here:
the emulated GPU compiles the 146 operations of the demo in 4.8 s and imports their blob in 0.2 s, the CPU 0.28 and
0.1 s.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

import openvino as ov

from ovplace.core.device import Device
from ovplace.store.blobs import Blobs

FORMAT = 1
"""Version of what blobs are made of; those of another version are not found."""

WORTH_S = 0.1
"""Models that compile faster are not stored: reading one back takes about as long."""

BYTES_PER_S = 200e6
"""Compiling must have taken longer than writing and reading the blob at this pace, too."""


class Compiler:
    """Compiles parts of one model for single devices, or imports what an earlier process compiled."""

    def __init__(self, core: ov.Core, blobs: Blobs, identity: object) -> None:
        """Set it up.

        Args:
            core: the Core in which the devices are registered.
            blobs: the cache on disk.
            identity: what all blobs depend on, as JSON can hold it: the model's content hash and OpenVINO's version.
        """
        self._core, self._blobs, self._identity = core, blobs, identity

    def compile(self, model: ov.Model, ops: Sequence[int], device: Device) -> ov.CompiledModel:
        """Return a model compiled for one device: from its blob, else compiled now.

        Args:
            model: the whole model, or some operations of it as a model of their own.
            ops: indices of these operations, sorted; empty for the whole model.
            device: a registered device.

        Raises:
            RuntimeError: it does not compile.
        """
        key = self._key(ops, device)
        return self._imported(key, device.name) or self._built(key, model, device.name)

    def _key(self, ops: Sequence[int], device: Device) -> str:
        text = json.dumps([FORMAT, self._identity, list(ops), device.to_dict()], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()

    def _imported(self, key: str, device: str) -> ov.CompiledModel | None:
        blob = self._blobs.find(key)
        if blob is None:
            return None
        try:
            return self._core.import_model(blob, device)
        except RuntimeError:  # of another driver, which the device did not tell
            self._blobs.drop(key)
            return None

    def _built(self, key: str, model: ov.Model, device: str) -> ov.CompiledModel:
        start = perf_counter()
        compiled = self._core.compile_model(model, device)
        took_s = perf_counter() - start
        if took_s > WORTH_S:
            with suppress(RuntimeError):  # not every plugin can export
                blob = io.BytesIO()
                compiled.export_model(blob)
                if took_s > WORTH_S + blob.tell() / BYTES_PER_S:
                    self._blobs.keep(key, blob.getvalue())
        return compiled
