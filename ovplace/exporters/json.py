"""The bare placement: one flat JSON object, operation name to device, as OpenVINO's hello_affinity sample reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.ir import placed_model
from ovplace.plugins import protocols

SUMMARY = "flat JSON, operation name to device"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Writes the placement as OpenVINO's hello_affinity sample reads it."""

    def text(self, folder: Path) -> str:
        """Return the placement of `folder`."""
        table = placed_model.read_placed(ov.Core(), folder).table
        return json.dumps(table, indent=0, ensure_ascii=False) + "\n"
