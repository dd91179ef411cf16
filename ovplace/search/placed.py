"""Leaving the files of the answer in the run folder."""

from __future__ import annotations

from ovplace.core.placement import Placement
from ovplace.search.result import Data
from ovplace.session.session import PREPARED, Session


def write_placed(session: Session, data: Data, placement: Placement) -> None:
    """Write `placement.json` and `placed.xml/.bin` with the run's provenance."""
    from ovplace.ir import placed_model

    provenance = {key: data[key] for key in ("verdict", "best", "environment")}
    table = placement.to_names(session.graph)
    placed_model.write_placed(session.folder / PREPARED, session.folder, table, session.devices, provenance)
