"""`ovplace explain`: what would run where, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console
from ovplace.core.text.plural import plural

if TYPE_CHECKING:
    from ovplace.commands.explain import Explanation

SHOWN = 8
"""Submodels that are listed one by one, and types of operations."""


@click.command(short_help="Show what would run where, and why.")
@options.model
@options.measuring
@options.placement
@options.configuring
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    /,
    model: str,
    placement: str | None,
    config_file: str | None,
    settings: tuple[str, ...],
    as_json: bool,
    **search: Any,
) -> None:
    """Show which operations of MODEL would run on which device with -d HETERO:GPU,CPU, and why; nothing is timed.

    Each device is asked what it supports, and OpenVINO is asked what HETERO's automatic mode does. With --placement,
    the placement in that file is explained instead.
    """
    from ovplace.api.model_file import find_model
    from ovplace.cli.arguments.placement_file import read_placement
    from ovplace.cli.output.tables import show_json
    from ovplace.cli.output.terminal import say
    from ovplace.commands.explain import explain
    from ovplace.progress import listening
    from ovplace.session.configure import effective

    given = {"model": find_model(model), **options.given(search)}
    config = effective(config_file, settings, given)
    with listening(console) as listener:
        found = explain(config, read_placement(Path(placement)) if placement else None, listener)
    if as_json:
        show_json(found.to_json())
        return
    for line in _lines(found):
        say(line)


def _lines(found: Explanation) -> Iterator[str]:
    """Yield the three lines: what runs where, why, and what is copied."""
    from ovplace.core.result.labels import size

    used = [f"{count} on {_label(found, name)}" for name, count in found.ops_per_device.items() if count]
    idle = [_label(found, name) for name, count in found.ops_per_device.items() if not count]
    yield (
        f"{found.target}: of {found.operations} operations, {', '.join(used)}"
        + (f", none on {', '.join(idle)}" if idle else "")
        + f"; {_submodels(found)}."
    )
    yield f"Why: {_rule(found)}; {_support(found)}."
    if found.refused:
        yield _refusal(found)
    elif found.unusable:
        yield f"This will not work: {found.unusable}."
    elif found.cut_bytes:
        yield f"Cost: {size(found.cut_bytes)} are copied between devices in each inference."
    else:
        yield "Cost: nothing is copied between devices."


def _refusal(found: Explanation) -> str:
    """Return what is wrong with operations on devices that do not support them."""
    n, first = len(found.refused), found.refused[0]
    which = f"{n} operations, such as '{first}'" if n > 1 else f"'{first}'"
    by = {found.placement[name] for name in found.refused}
    if all(device.emulated for device in found.devices if device.name in by):
        return f"ovplace never makes this placement: the emulated GPU has no correct kernel for {which}."
    return f"This will not compile: the devices given do not support {which}."


def _label(found: Explanation, name: str) -> str:
    from ovplace.core.result.labels import marked

    emulated = {device.name: device.emulated for device in found.devices}
    return marked(name, emulated, bool(found.simulated))


def _submodels(found: Explanation) -> str:
    chain = found.submodels
    if len(chain) < 2:
        return "1 submodel" if chain else "no submodel, for nothing is computed"
    counts = Counter(chain)
    shown = " ".join(chain) if len(chain) <= SHOWN else ", ".join(f"{n} on {name}" for name, n in counts.items())
    return f"{len(chain)} submodels: {_label(found, shown)}"


def _rule(found: Explanation) -> str:
    from ovplace.commands.explain import Rule

    texts = {
        Rule.ONE_DEVICE: "there is one device",
        Rule.AUTOMATIC: "HETERO gives each operation to the first of its devices that supports it, whatever that costs",
        Rule.AFFINITIES: "each operation goes where its affinity says",
    }
    return texts[found.rule]


def _support(found: Explanation) -> str:
    parts = []
    for device in found.devices:
        name = _label(found, device.name)
        if not device.unsupported:
            parts.append(f"{name} supports all")
            continue
        kinds = [f"{count} {kind}" for kind, count in device.unsupported.items()]
        others = len(kinds) - SHOWN
        more = f" and {plural(others, 'other type')}" if others > 0 else ""
        or_wrongly = ", or computes wrongly," if device.emulated else ""  # HETERO believes what its plugin says
        parts.append(f"{name} does not support{or_wrongly} {', '.join(kinds[:SHOWN])}{more}")
    return ", ".join(parts)
