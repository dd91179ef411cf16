"""Options that several commands share, named as in OpenVINO's benchmark_app where it has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ovplace.cli.output.console import Console
from ovplace.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smh]?)+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


class Duration(click.ParamType):  # type: ignore[type-arg]
    """Seconds from texts such as `90`, `90s`, `10m`, `1h30m`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds.

        Args:
            value: the text, or the default in seconds.
            param: the option, named in the error text.
            ctx: the command, whose usage goes with the error text.

        Raises:
            click.BadParameter: the text is no duration.
        """
        if isinstance(value, float):
            return value
        if not _DURATION.fullmatch(value):
            self.fail(f"'{value}' is no duration; write 90s, 10m or 1h30m", param, ctx)
        return sum(float(number) * _UNITS[unit or "s"] for number, unit in _PART.findall(value))


def completes(role: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what completes the names of the plug-ins of a role."""

    def complete(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
        from ovplace.plugins import registry

        return [CompletionItem(name) for name in registry.names(role) if name.startswith(start)]

    return complete


def _machines(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    from ovplace.shipped import shipped_in

    return [CompletionItem(name) for name in shipped_in("configs/machines", ".toml") if name.startswith(start)]


def _louder(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Console).verbosity = 1


def _quieter(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Console).verbosity = -1


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Console).debug = True


def _renamed(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise UsageError(f"--profile is called --machine now; write --machine {value}")


def _all(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


common = _all(
    click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=_louder, help="Tell each step."),
    click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_quieter, help="Tell errors only."),
    click.option(
        "--debug", is_flag=True, expose_value=False, callback=_debug, is_eager=True, help="Traceback for each error."
    ),
)
"""Options that every command takes, before its name or behind it."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")

model = click.argument("model")

preparing = click.option(
    "-shape",
    "--shape",
    metavar="SHAPE",
    help="Static input shapes as in benchmark_app: 'data[1,3,224,224],mask[1,8]' or '[1,3,224,224]'.",
)

coarsener = click.option(
    "--coarsener", metavar="NAME", shell_complete=completes("coarseners"), help="How operations are grouped."
)

rigorous = click.option("--rigorous", is_flag=True, help="Twenty fresh processes, for a smaller interval.")

configuring = _all(
    click.option(
        "--config", "config_file", metavar="FILE", help="TOML file, or the name of one that comes with ovplace."
    ),
    click.option(
        "--set", "settings", multiple=True, metavar="SECTION.KEY=VALUE", help="Set any setting; may be repeated."
    ),
)

measuring = _all(
    click.option(
        "-d",
        "--device",
        metavar="DEVICES",
        help="Devices, such as GPU,CPU or HETERO:GPU,CPU or 'CPU_BF16=CPU{INFERENCE_PRECISION_HINT:bf16},GPU'; "
        "what the machine has by default.",
    ),
    preparing,
    click.option("-i", "--input", metavar="FILE.npz", help="One array an input; random inputs by default."),
    click.option("--seed", type=int, help="Seed of everything random."),
    click.option("--backend", metavar="NAME", shell_complete=completes("backends"), help="What measures."),
    click.option(
        "--machine",
        metavar="NAME|FILE",
        shell_complete=_machines,
        help="Simulate a machine instead of measuring here: one that comes with ovplace, or a TOML file.",
    ),
    click.option("--profile", hidden=True, expose_value=False, callback=_renamed),
    click.option(
        "--emulate-gpu/--no-emulate-gpu",
        default=None,
        help="Use the emulated GPU, or never; by default where no GPU is.",
    ),
)

searching = _all(
    click.option("--placer", metavar="NAME", shell_complete=completes("placers"), help="The search algorithm."),
    click.option("--policy", metavar="FILE", help="Start from a policy that 'ovplace train' made, or from 'shipped'."),
    coarsener,
    click.option("--budget", type=int, help="Placements to measure, at most."),
    click.option(
        "-t",
        "--time",
        "time_s",
        type=Duration(),
        help="Time of the whole call, at most: 90s, 10m, 1h30m. A continued run has it anew.",
    ),
    click.option("--max-error", type=float, help="Reject placements whose relative output error is larger."),
    click.option("--require-gain", is_flag=True, default=None, help="Exit with 3 unless a placement wins."),
)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the user gave: the others must not override files and `--set`."""
    return {key: value for key, value in options.items() if value is not None}
