"""The command `ovplace bound`: how far a run's answer is from the optimum of the cost model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console
from ovplace.cli.results.input_option import input_option
from ovplace.core.text.plural import plural

if TYPE_CHECKING:
    from ovplace.commands.optimality_gap import ModelOptimum, OptimalityGap
    from ovplace.core.certificate import Certificate

PROVEN = 1e-6
"""A gap below this is rounding."""


@click.command(short_help="Show how far a run is from the cost model's optimum.")
@options.run
@click.option(
    "--time-limit",
    "time_limit_s",
    type=options.Duration(),
    default="60s",
    show_default=True,
    help="Time limit of the solver: 90s, 10m.",
)
@input_option
@options.as_json
@options.common
@click.pass_obj
def command(console: Console, run: str, time_limit_s: float, input_path: str, as_json: bool) -> None:
    """Show how far the answer in the folder RUN is from the optimum of the cost model.

    The costs of the model's groups are those that the run has measured; only if it has none, they are measured now, on
    the inputs of the run or those of -i. They are fitted to the trials of the run. The optimum is that of the cost
    model, which may differ from that of the machine.
    """
    from ovplace.cli.output.tables import show_json
    from ovplace.commands.optimality_gap import optimality_gap
    from ovplace.progress import listening

    with listening(console) as listener:
        found = optimality_gap(Path(run), time_limit_s, listener, input_path)
    if as_json:
        show_json(found.to_json())
    else:
        _show(found)


def _show(found: OptimalityGap) -> None:
    from ovplace.cli.output.tables import show_pairs, show_table
    from ovplace.cli.output.terminal import say

    show_pairs([*_pairs(found), *_fit_pairs(found)])
    click.echo()
    header = ("solver", "model", "value ms", "lower bound ms", "gap", "seconds", "leaves out")
    show_table(header, [_row(certificate) for certificate in found.certificates], right=range(2, 6))
    click.echo()
    for line in sentences(found):
        say(line)


def _pairs(found: OptimalityGap) -> Iterator[tuple[str, str]]:
    best, optimum, machine = found.best, found.optimum, _machine(found)
    submodels = len(optimum.submodels)
    yield "run", found.run
    yield "simulated machine", machine
    yield "answer", f"{_ops(found, best.ops_per_device)}, {_origin(found)}"
    latency_ms = best.latency_ms.value if best.latency_ms else None
    yield "simulated latency" if machine else "measured latency", _ms(latency_ms)
    yield "under the model", _ms(best.model_ms)
    yield "model's optimum", f"{_ms(optimum.model_ms)}, {_proof(optimum)}"
    yield "attained by", f"{_ops(found, optimum.ops_per_device)} in {plural(submodels, 'submodel')}"
    yield "costs", found.costs_source + (", measured now" if found.costs_measured_now and not machine else "")


def sentences(found: OptimalityGap) -> Iterator[str]:
    """Yield the distance in plain sentences."""
    machine = _machine(found)
    simulated = f" of the simulated machine {machine}" if machine else ""
    if found.best.model_ms is None:
        yield (
            "The cost model cannot predict the answer, which divides one of its groups, or has a group that failed "
            "when it was profiled alone."
        )
    elif _none(found.best.above_optimum) and _none(found.optimum.gap):
        yield f"Under the cost model{simulated} the answer is optimal: no placement of these groups is faster."
    else:
        yield f"Under the cost model{simulated} the answer takes {_distance(found)}."
    if found.optimum.failed:
        yield f"The placement that attains the optimum failed in the run: {found.optimum.failed}."
    agreement = found.fit.profiled if machine else found.fit.held_back
    if agreement and machine:
        yield f"The simulated latencies differ from that model by {_percent(agreement.mape)} on average: their noise."
    elif agreement:
        yield f"The model itself is off by {_percent(agreement.mape)} on average on placements it was not fitted to."


def _distance(found: OptimalityGap) -> str:
    best, above = found.best, _percent(found.best.above_optimum)
    if _none(found.optimum.gap):
        return f"{above} more time than the optimum"
    if best.above_bound is None:
        return f"{above} more time than the best placement known; nothing is proven, try a longer --time-limit"
    return f"{above} more time than the best placement known, at most {_percent(best.above_bound)} above the optimum"


def _none(fraction: float | None) -> bool:
    return fraction is not None and fraction <= PROVEN


def _machine(found: OptimalityGap) -> str:
    """Return the name of the simulated machine; empty for a real one."""
    return found.result.environment.simulated


def _ops(found: OptimalityGap, ops_per_device: Mapping[str, int]) -> str:
    from ovplace.core.result.labels import label, operations

    return operations(ops_per_device, partial(label, found.result))


def _origin(found: OptimalityGap) -> str:
    from ovplace.core.result.labels import label

    origin = found.best.origin
    return f"found by {origin}" if found.result.is_faster else f"the baseline {label(found.result, origin)}"


def _proof(optimum: ModelOptimum) -> str:
    if _none(optimum.gap):
        return "proven"
    if optimum.gap is None:
        return "nothing proven"
    return f"none is below {_ms(optimum.lower_bound_ms)} (gap {_percent(optimum.gap)})"


def _fit_pairs(found: OptimalityGap) -> Iterator[tuple[str, str]]:
    fit, exact = found.fit, bool(_machine(found))
    yield "compared with" if exact else "fitted to", f"{plural(fit.placements, 'placement')} of the run"
    before = ("as it is" if exact else "as profiled", fit.profiled)
    for name, agreement in (before,) if exact else (before, ("held back", fit.held_back)):
        if agreement:
            yield name, f"Spearman {agreement.spearman:.3f}, MAPE {_percent(agreement.mape)}"


def _row(certificate: Certificate) -> tuple[str, ...]:
    from ovplace.core.certificate import finite

    values = [_number(finite(value)) for value in (certificate.value_ms, certificate.lower_bound_ms)]
    gap, seconds = _percent(finite(certificate.gap)), f"{certificate.seconds:.2f}"
    return (certificate.solver, certificate.model, *values, gap, seconds, certificate.leaves_out)


def _number(value: float | None) -> str:
    from ovplace.core.result.labels import number

    return number(value)


def _ms(value: float | None) -> str:
    return "" if value is None else f"{_number(value)} ms"


def _percent(fraction: float | None) -> str:
    if fraction is None:
        return "-"
    if _none(fraction):
        return "0 %"
    return f"{100 * fraction:.2g} %" if fraction < 0.1 else f"{100 * fraction:.0f} %"
