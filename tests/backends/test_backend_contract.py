from __future__ import annotations

import dataclasses

import openvino as ov
import pytest

from ovplace.core.device import Device
from ovplace.core.measurement import Job
from ovplace.ir.prepare.prepare import prepare
from ovplace.plugins import registry
from ovplace.testing import fake_backend, models
from ovplace.testing.contracts.backend import BackendContract


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    ov.save_model(models.residual(), folder / "source.xml", compress_to_fp16=False)
    prepare(folder / "source.xml", folder / "model.xml")
    return folder / "model.xml"


class TestEveryBackend(BackendContract):
    @pytest.fixture(params=[*registry.names("backends"), fake_backend.NAME])
    def plugin(self, request):
        return registry.load("backends", request.param)

    @pytest.fixture
    def job(self, model, plugin):
        devices = tuple(Device(name, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}) for name in ("CPU_A", "CPU_B"))
        return Job(str(model), devices, options=dataclasses.asdict(plugin.Config()))
