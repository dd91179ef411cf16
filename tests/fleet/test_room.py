"""The room of scheduler and worker is a finite number."""

import pytest
from click.testing import CliRunner

from ovplace.cli.fleet.cluster import scheduler
from ovplace.cli.fleet.worker import command as worker


@pytest.mark.parametrize("room", ["nan", "inf", "0", "-1", "x"])
@pytest.mark.parametrize(("command", "needed"), [(scheduler, []), (worker, ["--scheduler", "tls://host:1"])])
def test_room_that_is_no_number_of_gib_is_wrong_usage(command, needed, room):
    done = CliRunner().invoke(command, [*needed, f"--room={room}"])
    assert done.exit_code == 2
    assert "--room" in done.output
