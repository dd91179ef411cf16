"""The devices of this machine are free again after a command, however it ends."""

import openvino as ov
import pytest

from ovplace.commands.explain import explain
from ovplace.commands.measure import measure
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.errors import PlacementError
from ovplace.session.events import silent
from ovplace.store.device_lock import for_worker
from ovplace.testing.models import residual

WRONG = {"no operation": "CPU"}


@pytest.mark.parametrize(("command", "given"), [(explain, WRONG), (measure, {"the placement": WRONG})])
def test_a_command_that_fails_leaves_the_devices_to_a_worker(tmp_path, command, given):
    ov.save_model(residual(), tmp_path / "model.xml")
    config = RunConfig(search=SearchConfig(model=str(tmp_path / "model.xml"), device="CPU"))
    with pytest.raises(PlacementError, match="of another model") as failed:
        command(config, given, silent)
    assert failed.tb is not None  # as in a notebook, which keeps the frames of the last error
    with for_worker():
        pass
