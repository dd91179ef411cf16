"""`ovplace export`: the answer of a run in another format."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console


class _Command(click.Command):
    """Lists the exporters below its help, without importing them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each exporter."""
        from ovplace.plugins import registry

        with formatter.section("Formats"):
            formatter.write_dl([(name, registry.summary("exporters", name)) for name in registry.names("exporters")])


@click.command(cls=_Command, short_help="Write a run's answer in another format.")
@options.run
@click.option(
    "--to",
    "form",
    required=True,
    metavar="NAME",
    shell_complete=options.completes("exporters"),
    help="The format, see below.",
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    shell_complete=options.completes_path,
    help="File, or folder for ir, python and cpp. By default text formats go to standard output, others into RUN.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Give a setting of the format; may be repeated."
)
@options.common
@click.pass_obj
def command(console: Console, run: str, form: str, output: str | None, settings: tuple[str, ...]) -> None:
    """Write the answer in the folder RUN in another format."""
    from ovplace.commands.export import export, exporter, limits
    from ovplace.plugins.blame import blaming
    from ovplace.plugins.protocols import TextExporter

    folder, using = Path(run), exporter(form, settings)
    notes = [f"note: {limit}" for limit in limits(folder, using)]
    blaming_it, advice = partial(blaming, type(using), "the exporter"), ""
    with blaming_it():
        text = using.text(folder) if output is None and isinstance(using, TextExporter) else None
    if text is not None:
        click.echo(text.encode(), nl=False)  # UTF-8 as in a file, whatever the terminal's encoding is
    else:
        written = export(folder, using, Path(output) if output else None)
        click.echo("\n".join(map(str, written)))
        with blaming_it():
            advice = using.next_step(run, written)
    for line in (*notes, *filter(None, [advice])):
        console.log(line)
