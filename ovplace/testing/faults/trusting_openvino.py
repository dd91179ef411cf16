"""The OpenVINO backend that believes every device can run everything, as a search on a faulty driver has to.

The emulated GPU computes some operations wrongly, which the real backend keeps off it (`devices/emulated_faults.py`).
A plug-in with its dotted path, `ovplace.testing.faults.trusting_openvino`.
"""

from __future__ import annotations

import numpy as np

from ovplace.backends.openvino import backend, config
from ovplace.graphs.op_graph import BoolArray

SUMMARY = "real inferences, on devices that are faulty or not, for tests"
NAME = "ovplace.testing.faults.trusting_openvino"
Config = config.Config


class Backend(backend.Backend):
    """Real inferences."""

    def supported(self) -> BoolArray:
        """Return that every device supports every operation, `[N, D]`."""
        return np.ones_like(super().supported())
