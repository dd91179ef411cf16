"""`ovplace benchmark`: a finished placement beside its baselines, with benchmark_app's options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console
from ovplace.cli.results.input_option import input_option

if TYPE_CHECKING:
    from ovplace.commands.benchmark import Benchmarked

_DEFAULT_S = 10.0


_NAME = re.compile(r"-[a-z_]{2,}")


class _BenchmarkApp(click.Command):
    """Names an unknown option as it was given: click would take `-hint` for several options of one letter."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            NoSuchOption: an option of benchmark_app that is not taken here, or another unknown one.
        """
        known = {name for parameter in self.params for name in parameter.opts}
        for arg in args:
            if _NAME.fullmatch(arg) and arg not in known and not {f"-{letter}" for letter in arg[1:]} <= known:
                raise click.NoSuchOption(arg, ctx=ctx)
        return super().parse_args(ctx, args)


@click.command(cls=_BenchmarkApp, short_help="Run a placement and its baselines as benchmark_app does.")
@options.run
@click.option(
    "-t",
    "--time",
    "time_s",
    type=options.Duration(),
    help="Time of each candidate; by default 10s, or as long as -niter takes.",
)
@click.option(
    "-niter",
    "--number_iterations",
    "n_iterations",
    type=click.IntRange(min=1),
    help="Inferences of each candidate; by default as many as -t allows.",
)
@click.option(
    "-nireq",
    "--number_infer_requests",
    "n_requests",
    type=click.IntRange(min=1),
    help="Number of inference requests, with async; by default as many as the device asks for.",
)
@click.option(
    "-api",
    "--api_type",
    "api",
    type=click.Choice(["sync", "async"]),
    default="sync",
    show_default=True,
    help="Synchronous or asynchronous inference.",
)
@click.option(
    "-latency_percentile",
    "--latency_percentile",
    "percent",
    type=click.IntRange(1, 100),
    default=50,
    show_default=True,
    help="Percentile that is shown as the latency.",
)
@click.option(
    "-report_type",
    "--report_type",
    type=click.Choice(["no_counters", "average_counters"]),
    help="Write a report for each candidate; with average_counters it has the time of each layer. None by default.",
)
@click.option(
    "-report_folder",
    "--report_folder",
    metavar="DIR",
    shell_complete=options.completes_path,
    default=".",
    help="Folder of the reports; by default the current one.",
)
@click.option("-json_stats", "--json_stats", is_flag=True, help="Write reports as JSON, not as CSV.")
@input_option
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    run: str,
    time_s: float | None,
    n_iterations: int | None,
    n_requests: int | None,
    api: str,
    percent: int,
    report_type: str | None,
    report_folder: str,
    json_stats: bool,
    input_path: str,
    as_json: bool,
) -> None:
    """Run the placement in the folder RUN and its baselines, one after another, with benchmark_app's options.

    They do not take turns, so small differences say little; 'ovplace measure' and 'ovplace optimize' compare in turns.
    The model, its shapes and the devices with their properties are those of the run, so -m, -d, -shape, -hint,
    -nstreams, -nthreads, -infer_precision and the like are not accepted. Neither is detailed_counters; average_counters
    gives the time of each layer.
    """
    from ovplace.cli.output.tables import show_json
    from ovplace.commands.benchmark import ELSEWHERE, BenchmarkCall, benchmark, report, write_reports
    from ovplace.commands.output_folder import check_folder
    from ovplace.errors import BackendError
    from ovplace.ir.timing.requests import Load
    from ovplace.progress import listening
    from ovplace.store.run_folder import RunFolder

    duration = time_s if time_s is not None else 0.0 if n_iterations else _DEFAULT_S
    load = Load(api, n_requests or 0, n_iterations or 0, duration, report_type == "average_counters")
    said = {"-api": api, "-t": f"{duration:g}", "-niter": str(load.n_iterations), "-nireq": str(load.n_requests)}
    if input_path:
        said["-i"] = input_path
    asked = BenchmarkCall(load, percent, said)
    for note in _ignored(api, report_type):
        console.log(f"note: {note}")
    if report_type:
        check_folder(Path(report_folder), ELSEWHERE)
    with listening(console) as listener:
        found = benchmark(Path(run), load, listener, input_path)
    if as_json:
        show_json({one.name: report(one, asked) if one.times else one.error for one in found})
    else:
        emulated = {device.name: device.emulated for device in RunFolder(Path(run)).read_result().devices}
        for line in _lines(found, percent, emulated):
            click.echo(line)
    if report_type:
        for path in write_reports(Path(report_folder), found, asked, as_json=json_stats):
            console.log(f"statistics report is stored to {path}")
    if failed := [one.name for one in found if not one.times]:
        raise BackendError(f"{', '.join(failed)} could not be run; the reasons stand in the result")


def _ignored(api: str, report_type: str | None) -> Iterator[str]:
    """Yield what is said of options that do nothing beside the others; benchmark_app passes over them in silence."""
    if api == "sync" and options.was_given("n_requests"):
        yield "-nireq is for -api async; inference is synchronous, with one request"
    if not report_type and (options.was_given("report_folder") or options.was_given("json_stats")):
        yield "-report_folder and -json_stats are for reports, and none is written without -report_type"


def _lines(found: list[Benchmarked], percent: int, emulated: Mapping[str, bool]) -> Iterator[str]:
    from statistics import fmean

    from ovplace.core.result.labels import marked

    name = "Median:        " if percent == 50 else f"{percent} percentile:     "
    for one in found:
        yield f"[ INFO ] {marked(one.name, emulated, simulated=False)}"
        if one.times is None:
            yield f"[ ERROR ] {one.error}"
            continue
        latencies = one.times.latencies_ms
        yield f"[ INFO ] Execution Devices:[{one.times.execution_devices}]"
        yield f"[ INFO ] Count:            {len(latencies)} iterations"
        yield f"[ INFO ] Duration:         {one.times.duration_ms:.2f} ms"
        yield "[ INFO ] Latency:"
        yield f"[ INFO ]    {name}{one.percentile_ms(percent):.2f} ms"
        yield f"[ INFO ]    Average:       {fmean(latencies):.2f} ms"
        yield f"[ INFO ]    Min:           {latencies[0]:.2f} ms"
        yield f"[ INFO ]    Max:           {latencies[-1]:.2f} ms"
        yield f"[ INFO ] Throughput:   {one.throughput:.2f} FPS"
