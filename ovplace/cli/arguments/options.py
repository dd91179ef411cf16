"""Options that several commands share, named as in OpenVINO's benchmark_app where it has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ovplace.cli.output.console import Console
from ovplace.errors import UsageError

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

F = TypeVar("F", bound=Callable[..., Any])

Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""Returns what may stand where a text begins so."""


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
        from ovplace.config.duration import seconds

        try:
            return seconds(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


class Setting(click.Option):
    """An option that stands for a setting of `[search]`: it has no default of its own, its help shows the setting's."""

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Return what stands in brackets behind the help text."""
        from ovplace.config.schema import SearchConfig

        extra, default = super().get_help_extra(ctx), getattr(SearchConfig(), self.name or "", None)
        if default not in (None, "", False, 0.0) or self.name == "seed":
            extra["default"] = str(default)
        return extra


def completes(role: str) -> Completion:
    """Return what completes the names of the plug-ins of a role."""

    def complete(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
        from ovplace.plugins import registry

        return [CompletionItem(name) for name in registry.names(role) if name.startswith(start)]

    return complete


def completes_file(folder: str) -> Completion:
    """Return what completes a TOML file: the name of one that comes with ovplace, in this folder, or any file."""

    def complete(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
        from ovplace.shipped import shipped_in

        return _or_file(shipped_in(folder, ".toml"), start)

    return complete


def _any_path(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    return [CompletionItem(start, type="file")]


completes_path: Completion = _any_path
"""Lets the shell complete a file or folder, which it does not do by itself where click completes for it."""


def _or_file(names: Iterable[str], start: str) -> list[CompletionItem]:
    """Return names, and any file; it comes first, as the script for bash forgets what precedes a file."""
    own = [CompletionItem(name) for name in names if name.startswith(start)]
    return [CompletionItem(start, type="file"), *own]


def _configs(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    from ovplace.config.files import run_configs

    return _or_file(run_configs(), start)


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
    click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=_louder, help="Log each step."),
    click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_quieter, help="Print errors only."),
    click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_debug,
        is_eager=True,
        help="Print a traceback for each error.",
    ),
)
"""Options that every command takes, before its name or behind it."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")

model = click.argument("model", shell_complete=completes_path)

models = click.argument("models", metavar="MODEL...", nargs=-1, required=True, shell_complete=completes_path)

run = click.argument("run", metavar="RUN", shell_complete=completes_path)

jobs = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="all processors",
    help="Number of runs at the same time; real runs on this machine are done one at a time.",
)

preparing = click.option(
    "-shape",
    "--shape",
    metavar="SHAPE",
    help="Static input shapes as in benchmark_app: 'data[1,3,224,224],mask[1,8]' or '[1,3,224,224]'; the "
    "model's by default.",
)

coarsener = click.option(
    "--coarsener",
    cls=Setting,
    metavar="NAME",
    shell_complete=completes("coarseners"),
    help="How operations are grouped.",
)

placement = click.option(
    "--placement",
    metavar="FILE.json",
    shell_complete=completes_path,
    help="Flat JSON object that maps operation names to devices, like placement.json of a run.",
)

placements = click.option(
    "--placement",
    "placements",
    multiple=True,
    metavar="FILE.json",
    shell_complete=completes_path,
    help="Flat JSON object that maps operation names to devices, like placement.json of a run; may be repeated.",
)

rigorous = click.option("--rigorous", is_flag=True, help="Use up to twenty fresh processes, for a narrower interval.")

cluster = click.option(
    "--cluster",
    metavar="tls://HOST:PORT",
    help="Measure on the machines of the fleet with this scheduler; on this machine by default.",
)

configuring = _all(
    click.option(
        "--config",
        "config_file",
        metavar="FILE",
        shell_complete=_configs,
        help="TOML file, or the name of one that comes with ovplace, such as placers/genetic; none by default.",
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
        help="Devices, as in GPU,CPU or HETERO:GPU,CPU, or with properties, as in "
        "'CPU{INFERENCE_PRECISION_HINT:f32},GPU'; by default chosen by what the machine has.",
    ),
    preparing,
    click.option(
        "-i",
        "--input",
        metavar="FILE.npz",
        shell_complete=completes_path,
        help="One array for each input, by its name; random inputs by default.",
    ),
    click.option("--seed", cls=Setting, type=int, help="Seed of all random numbers."),
    click.option(
        "--backend",
        cls=Setting,
        metavar="NAME",
        shell_complete=completes("backends"),
        help="The backend that measures.",
    ),
    click.option(
        "--machine",
        metavar="NAME|FILE",
        shell_complete=completes_file("configs/machines"),
        help="Simulate a machine instead of measuring here: one that comes with ovplace, or a TOML file.",
    ),
    click.option("--profile", hidden=True, expose_value=False, callback=_renamed),
    click.option(
        "--emulate-gpu/--no-emulate-gpu",
        default=None,
        help="Use the emulated GPU, or never use it; by default it is used if there is no GPU.",
    ),
)

searching = _all(
    click.option(
        "--placer", cls=Setting, metavar="NAME", shell_complete=completes("placers"), help="The search algorithm."
    ),
    click.option(
        "--policy",
        metavar="FILE",
        shell_complete=completes_path,
        help="Start from a trained policy: a file of 'ovplace train', or 'shipped'; none by default.",
    ),
    coarsener,
    click.option(
        "--budget",
        cls=Setting,
        type=int,
        help="Largest number of placements to measure; by default 60, or as many as --time allows.",
    ),
    click.option(
        "-t",
        "--time",
        "time_s",
        type=Duration(),
        help="Time limit of the whole call: 90s, 10m, 1h30m; none by default. A call that continues a run has the full "
        "time again.",
    ),
    click.option(
        "--max-error",
        type=float,
        help="Reject placements whose relative output error is larger; by default 0.001 if all devices compute in f32, "
        "otherwise twice the error of the worst lower-precision device, at least 0.001.",
    ),
    click.option(
        "--early-exit/--no-early-exit",
        default=None,
        help="Skip the search where the profile proves that no split can help; the default.",
    ),
    click.option("--require-gain", is_flag=True, default=None, help="Exit with code 3 unless a placement wins."),
)


def was_given(name: str) -> bool:
    """Return whether an option of this command was given, by the name of its argument."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the user gave: the others must not override files and `--set`."""
    return {key: value for key, value in options.items() if value is not None}
