"""The room of scheduler and worker is a finite number."""

import pytest
from click.testing import CliRunner

from ovplace.cli import group


@pytest.mark.parametrize("room", ["nan", "inf", "0", "-1", "x"])
@pytest.mark.parametrize("command", [["cluster", "scheduler"], ["worker", "--scheduler", "tls://host:1"]])
def test_room_that_is_no_number_of_gib_is_wrong_usage(command, room):
    done = CliRunner().invoke(group, [*command, f"--room={room}"])
    assert done.exit_code == 2
    assert "--room" in done.output
