"""The searches for several models as a table, as JSON, and as an exit code."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ovplace.cli.output.tables import show_json, show_table
from ovplace.cli.output.terminal import say
from ovplace.core.result.labels import interval_text, label, number
from ovplace.errors import NotReachedError, OvplaceError
from ovplace.experiments.many_models import ModelSearch

_HEADER = ("model", "answer", "ratio", "interval", "against", "run folder")


def show_searches(searches: Sequence[ModelSearch], as_json: bool) -> None:
    """Print the answer for each model.

    Args:
        searches: of all models.
        as_json: print JSON, with what `result.json` of each run holds.
    """
    if as_json:
        show_json([_to_json(search) for search in searches])
        return
    show_table(_HEADER, [_row(search) for search in searches], right=(2, 3))
    click.echo()
    for search in searches:
        if search.error:
            say(f"Failed: {search.model}: {search.error}")
    click.echo("See one: ovplace show FOLDER")


def check(searches: Sequence[ModelSearch], *, require_gain: bool) -> None:
    """Raise what decides the exit code.

    Args:
        searches: of all models.
        require_gain: whether each must have a placement that is faster than its baselines.

    Raises:
        OvplaceError: a search failed.
        NotReachedError: a model has no such placement.
    """
    if failed := sum(bool(search.error) for search in searches):
        raise OvplaceError(f"{failed} of {len(searches)} searches failed; the same command tries those again")
    without = [search.model for search in searches if search.result and not search.result.is_faster]
    if require_gain and without:
        raise NotReachedError(
            f"no placement was shown to be faster for {', '.join(without)}; try a larger --budget or other devices"
        )


def _row(search: ModelSearch) -> tuple[str, ...]:
    result = search.result
    if result is None:
        return (search.model, "failed", "-", "-", "-", str(search.folder))
    verdict = result.verdict
    answer = "placement" if result.is_faster else label(result, result.best.origin)
    ratio = (number(verdict.ratio.value), interval_text(verdict.ratio)) if verdict.ratio else ("-", "-")
    return (search.model, answer, *ratio, label(result, verdict.against), str(search.folder))


def _to_json(search: ModelSearch) -> dict[str, object]:
    found = search.result.to_json() if search.result else None
    return {"model": search.model, "folder": str(search.folder), "error": search.error or None, "result": found}
