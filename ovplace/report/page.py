"""The page of a report: one HTML file that holds its data, styles and scripts, and needs no network.

What comes from a run, such as the names of operations, is data: the template escapes it, the scripts set it as text,
and the page's policy runs only the scripts that were written here, known by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import jinja2
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ovplace.core.result.labels import error, mean_count, number
from ovplace.report.ablation import Ablation
from ovplace.report.collect import Report
from ovplace.report.compare import Comparison
from ovplace.version import __version__

_ASSETS = files("ovplace.report") / "assets"

_SCRIPTS = (
    "common", "tree", "layout", "graph_text", "graph_style", "graph", "graph_keys", "graph_tools",
    "charts", "charts_of_runs", "live", "main",
)  # fmt: skip


@dataclass(frozen=True)
class Library:
    """A library that the page holds.

    Attributes:
        name: on npm.
        version: the released version that the file is of.
        licence: its SPDX name.
        licence_file: the licence's text.
        file: the minified script.
        source: where it is from.
        sha256: hash of the file.
    """

    name: str
    version: str
    licence: str
    licence_file: str
    file: str
    source: str
    sha256: str


def libraries() -> list[Library]:
    """Return the libraries of the page, in the order in which they are loaded."""
    return [Library(**entry) for entry in json.loads(asset("vendor/manifest.json"))]


@cache
def asset(name: str) -> str:
    """Return the text of a file of the page."""
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


def html(report: Report) -> str:
    """Return the page of a report."""
    return _render("page.html.j2", report.to_data(), title=report.title, report=report)


def comparison_html(comparison: Comparison) -> str:
    """Return the page of several runs."""
    return _render("compare.html.j2", comparison.to_data(), title="Comparison", comparison=comparison)


def ablation_html(ablation: Ablation, folder: str = ".") -> str:
    """Return the page of an ablation.

    Args:
        ablation: what it shows.
        folder: where the ablation lies, seen from the page: the reports of its runs are linked.
    """
    title, where = f"Ablation {ablation.name}", quote(PurePath(folder).as_posix())
    return _render("ablation.html.j2", ablation.to_data(), title=title, ablation=ablation, folder=where)


def live_html(title: str) -> str:
    """Return the page that follows a run; it asks the server that it comes from."""
    return _render("live.html.j2", {}, connect="'self'", title=title)


def _render(template: str, data: Any, connect: str = "'none'", **values: Any) -> str:
    scripts = [_without_map(asset(f"vendor/{library.file}")) for library in libraries()]
    scripts += [asset(f"scripts/{name}.js") for name in _SCRIPTS]
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(asset("page.css")),
            scripts=[Markup(text) for text in scripts],
            policy=_policy(scripts, connect),
            data=htmlsafe_json_dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
            version=__version__,
            libraries=libraries(),
            licence=lambda library: asset(f"vendor/{library.licence_file}"),
            **values,
        )
    )


def _policy(scripts: Sequence[str], connect: str) -> str:
    """Return what the browser may run and load: the page's own scripts, and nothing from elsewhere."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; connect-src {connect}"


def _without_map(script: str) -> str:
    """Return a script without the name of its source map, which lies elsewhere."""
    return re.sub(r"^//# sourceMappingURL=.*$", "", script, flags=re.MULTILINE)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"figures": number, "exponent": error, "mean_count": mean_count, "lower_first": _lower_first}
    return environment


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
