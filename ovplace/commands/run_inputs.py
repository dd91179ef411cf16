"""The inputs of a run that has been searched, or those that are named in their place."""

from __future__ import annotations

from dataclasses import replace

from ovplace.config.files import absolute
from ovplace.config.schema import RunConfig
from ovplace.session.session import check_settings


def with_inputs(config: RunConfig, input_path: str) -> RunConfig:
    """Return the configuration of a run with other inputs where some are named, and check that they are there.

    Args:
        config: of the run.
        input_path: `.npz` file with one array for each input; empty for the inputs of the run.

    Raises:
        UsageError: the inputs are not there, or a plug-in of the run is not.
    """
    inputs = absolute(input_path) or config.search.input
    found = replace(config, search=replace(config.search, input=inputs))
    check_settings(found)
    return found
