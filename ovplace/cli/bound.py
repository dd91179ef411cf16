"""`ovplace bound`: how far a run's answer is from the optimum of the cost model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Talk

Data = dict[str, Any]

PROVEN = 1e-6
"""A gap below this is rounding."""


@click.command(short_help="Show how far a run is from the cost model's optimum.")
@click.argument("run", metavar="RUN")
@click.option(
    "--time-limit",
    "time_limit_s",
    type=options.Duration(),
    default="60s",
    show_default=True,
    help="Time of the solver: 90s, 10m.",
)
@options.as_json
@options.common
@click.pass_obj
def command(talk: Talk, run: str, time_limit_s: float, as_json: bool) -> None:
    """Show how far the answer in the folder RUN is from the optimum of the cost model.

    The costs of the model's groups are those that the run has measured, or are measured now; they are fitted to the
    run's trials. The optimum is one under the cost model, not of the machine.
    """
    from ovplace.api import bound
    from ovplace.cli.output.progress import listening
    from ovplace.cli.output.tables import show_json

    if time_limit_s <= 0:
        raise click.BadParameter("the time limit must be positive", param_hint="--time-limit")
    with listening(talk) as listener:
        found = bound(run, time_limit_s=time_limit_s, listener=listener)
    if as_json:
        show_json(found)
    else:
        _show(found)


def _show(data: Data) -> None:
    from ovplace.cli.output.tables import show, show_pairs

    best, optimum = data["best"], data["optimum"]
    show_pairs(
        [
            ("run", data["run"]),
            ("simulated machine", _machine(data)),
            ("answer", f"{_ops(data, best)}, found by {best['origin']}"),
            (
                "simulated latency" if _machine(data) else "measured latency",
                _ms(best["latency_ms"] and best["latency_ms"]["median"]),
            ),
            ("under the model", _ms(best["model_ms"])),
            ("model's optimum", f"{_ms(optimum['model_ms'])}, {_proof(optimum)}"),
            ("attained by", f"{_ops(data, optimum)} in {len(optimum['submodels'])} submodels"),
            ("costs", data["costs"]["source"] + (", measured now" if data["costs"]["measured_now"] else "")),
            *_fit_pairs(data),
        ]
    )
    click.echo()
    header = ("solver", "model", "value ms", "lower bound ms", "gap", "seconds", "leaves out")
    show(header, [_row(certificate) for certificate in data["certificates"]], right=range(2, 6))
    click.echo()
    for line in sentences(data):
        click.echo(line)


def sentences(data: Data) -> Iterator[str]:
    """Yield the distance in plain sentences."""
    best, simulated = data["best"], f" of the simulated machine {_machine(data)}" if _machine(data) else ""
    if best["model_ms"] is None:
        yield "The answer divides groups that the model knows only whole, so the model has no value for it."
    elif _none(best["above_optimum"]) and _none(data["optimum"]["gap"]):
        yield f"Under the cost model{simulated} the answer is optimal: no placement of these groups is faster."
    else:
        yield f"Under the cost model{simulated} the answer takes {_distance(data)}."
    found = data["fit"]["profiled" if _machine(data) else "held_back"]
    if found and _machine(data):
        yield f"The simulated latencies differ from that model by {_percent(found['mape'])} on average: their noise."
    elif found:
        yield f"The model itself is off by {_percent(found['mape'])} on average on placements it was not fitted to."


def _distance(data: Data) -> str:
    best, known = data["best"], _percent(data["best"]["above_optimum"])
    if _none(data["optimum"]["gap"]):
        return f"{known} more time than the optimum"
    if best["above_bound"] is None:
        return f"{known} more time than the best placement known; nothing is proven, try a longer --time-limit"
    return f"{known} more time than the best placement known, at most {_percent(best['above_bound'])} above the optimum"


def _none(fraction: float | None) -> bool:
    return fraction is not None and fraction <= PROVEN


def _machine(data: Data) -> str:
    """Return the name of the simulated machine, empty for a real one."""
    return str(data["environment"].get("simulated", ""))


def _ops(data: Data, of: Data) -> str:
    from ovplace.cli.output.result import label

    counts = {name: n for name, n in of["ops_per_device"].items() if n}
    return ", ".join(f"{n} operations on {label(data, name)}" for name, n in counts.items())


def _proof(optimum: Data) -> str:
    if _none(optimum["gap"]):
        return "proven"
    if optimum["gap"] is None:
        return "nothing proven"
    return f"none is below {_ms(optimum['lower_bound_ms'])} (gap {_percent(optimum['gap'])})"


def _fit_pairs(data: Data) -> Iterator[tuple[str, str]]:
    found, exact = data["fit"], bool(_machine(data))
    yield "compared with" if exact else "fitted to", f"{found['placements']} placements of the run"
    for name, key in (
        (("as it is", "profiled"),) if exact else (("as profiled", "profiled"), ("held back", "held_back"))
    ):
        if found[key]:
            yield name, f"Spearman {found[key]['spearman']:.3f}, MAPE {_percent(found[key]['mape'])}"


def _row(certificate: Data) -> tuple[str, ...]:
    values = [_number(certificate[key]) for key in ("value_ms", "lower_bound_ms")]
    gap, seconds = _percent(certificate["gap"]), f"{certificate['seconds']:.2f}"
    return (certificate["solver"], certificate["model"], *values, gap, seconds, certificate["leaves_out"])


def _number(value: float | None) -> str:
    from ovplace.cli.output.result import number

    return number(value)


def _ms(value: float | None) -> str:
    return "" if value is None else f"{_number(value)} ms"


def _percent(fraction: float | None) -> str:
    if fraction is None:
        return "-"
    if _none(fraction):
        return "0 %"
    return f"{100 * fraction:.2g} %" if fraction < 1 else f"{100 * fraction:.0f} %"
