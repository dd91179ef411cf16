"""`ovplace export`: the answer of a run in another form."""

from __future__ import annotations

from pathlib import Path

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Talk
from ovplace.exporters import FORMATS

_NEXT = {
    "ir": "load it with: python -c \"import ovplace; compiled = ovplace.load('{path}')\"",
    "blob": "load it with core.import_model(blob, 'HETERO'), or the one device's name; a blob carries no device "
    "properties, set them first as the program does that 'ovplace export {run} --to python' prints",
    "netron": "open {path} in Netron",
}


_FORMS = "\b\nForms:\n" + "\n".join(f"  {name:<7} {what}" for name, what in FORMATS.items())


@click.command(short_help="Write a run's answer in another form.", epilog=_FORMS)
@click.argument("run", metavar="RUN")
@click.option("--to", "form", required=True, type=click.Choice(list(FORMATS)), help="The form.")
@click.option("-o", "--output", metavar="PATH", help="File, or folder for ir; texts go to standard output by default.")
@options.common
@click.pass_obj
def command(talk: Talk, run: str, form: str, output: str | None) -> None:
    """Write the answer in the folder RUN in another form."""
    from ovplace import exporters

    folder = Path(run)
    if output is None and form in exporters.TEXTS:
        click.echo(exporters.text(folder, form), nl=False)
        return
    written = exporters.export(folder, form, Path(output) if output else folder / exporters.load(form).TARGET)
    for path in written:
        click.echo(str(path))
    if form in _NEXT:
        talk.say(_NEXT[form].format(path=written[0].parent if form == "ir" else written[0], run=run))
