"""The directive `results`: a table of benchmarks/results with what produced it.

The tables of a page lie in a folder of its path: those of docs/results/answers.md in answers/, those of
docs/guides/install.md in guides/install/.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ovplace.core.text.markdown_table import pipe_table

FOLDER = Path(__file__).parents[2] / "benchmarks/results"


class Results(SphinxDirective):
    """Show one table: `{results} NAME` reads NAME.json in the folder of the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, its note, and the command, revision and machine behind it."""
        path = FOLDER / self.env.docname.removeprefix("results/") / f"{self.arguments[0]}.json"
        self.env.note_dependency(path)
        if not path.exists():
            raise self.error(f"there is no {path}; results are added there as JSON")
        return self.parse_text_to_nodes("\n\n".join(_parts(json.loads(path.read_text(encoding="utf-8")))))


def _parts(data: dict[str, Any]) -> Iterator[str]:
    yield pipe_table(data["columns"], data["rows"])
    if data["note"]:
        yield data["note"]
    command = f"`{data['command']}`" if data["command"] else "command not recorded"
    now = f" (now `{data['now']}`)" if data.get("now") else ""
    yield f"*Source:* {command}{now}; revision {data['revision']}; {data['machine']}."


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("results", Results)
    return {"parallel_read_safe": True}
