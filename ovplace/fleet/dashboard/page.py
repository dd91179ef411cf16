"""The page as HTML."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import jinja2

from ovplace.fleet.overview import Overview
from ovplace.version import __version__

REFRESH_S = 3


def page_of(overview: Overview) -> str:
    """Return the page, which loads itself anew every `REFRESH_S` seconds and needs no script.

    Args:
        overview: what the fleet does. Names in it come from other machines, and are shown as text.
    """
    return _template().render(fleet=overview, refresh_s=REFRESH_S, version=__version__)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ovplace.fleet.dashboard", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = _duration
    return environment.get_template("page.html.j2")


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
