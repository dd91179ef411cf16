"""A session that leaves nothing behind, and the placement that such a command is asked about."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.core.placement import Placement
from ovplace.errors import DeviceError
from ovplace.session.events import Listener
from ovplace.session.session import Session, check_settings, open_session
from ovplace.store.run_folder import RunFolder


@contextmanager
def temporary_session(config: RunConfig, listener: Listener) -> Iterator[Session]:
    """Check the settings and set a session up in a temporary folder; both are gone at the end.

    Args:
        config: names the model and the devices.
        listener: is called with each step.

    Raises:
        OvplaceError: a setting, the model or a device is not usable.
    """
    check_settings(config)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_session(config, RunFolder(Path(folder)), listener)) as session,
    ):
        yield session


def placement_on_devices(session: Session, table: Mapping[str, str]) -> Placement:
    """Return the placement of a table.

    Args:
        session: names the model and the devices.
        table: device of every operation of the prepared model.

    Raises:
        PlacementError: operations are missing from the table, or it names unknown ones.
        DeviceError: it uses a device that the session has not.
    """
    placement = Placement.from_names(session.graph, table)
    known = session.problem.device_names
    if unknown := [name for name in placement.devices if name not in known]:
        raise DeviceError(
            f"the placement uses device '{unknown[0]}', named are {', '.join(known)}; name all its devices with -d"
        )
    return placement
