"""`ovplace models`: the benchmark models, built from recipes without any other framework."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console


def _complete(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    from ovplace import zoo

    return [CompletionItem(name) for name in zoo.names() if name.startswith(start)]


@click.group(name="models")
@options.common
def command() -> None:
    """List and build the benchmark models."""


@command.command("list")
@options.as_json
@options.common
def list_models(as_json: bool) -> None:
    """List the models with their options."""
    from ovplace.cli.output.tables import show_json, show_table

    found = [_recipe(name) for name in _names()]
    if as_json:
        show_json(found)
        return
    rows = [(r["name"], r["summary"], " ".join(f"{o['name']}={o['default']}" for o in r["options"])) for r in found]
    show_table(("model", "what it is", "options"), rows)


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=_complete)
@click.option(
    "-o",
    "--output",
    default="models",
    show_default=True,
    metavar="DIR",
    shell_complete=options.completes_path,
    help="Folder of the IR files.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Set an option of the model; may be repeated."
)
@click.option("--fp16", is_flag=True, help="Store weights in half precision.")
@options.as_json
@options.common
@click.pass_obj
def build(
    console: Console, names: tuple[str, ...], output: str, settings: tuple[str, ...], fp16: bool, as_json: bool
) -> None:
    """Build benchmark models as OpenVINO IR, by default in f32."""
    from ovplace import zoo
    from ovplace.cli.output.tables import show_json

    recipes = [zoo.recipe(name) for name in names]
    configs = [_config(name, recipe, settings) for name, recipe in zip(names, recipes, strict=True)]
    built = []
    for name, config in zip(names, configs, strict=True):
        console.log(f"building {name}")
        path = Path(output) / f"{name}.xml"
        built.append(_written(path, len(zoo.save_recipe(name, config, path, fp16).get_ops())))
        if not as_json:
            click.echo(built[-1]["path"])
    if as_json:
        show_json(built)


def _names() -> list[str]:
    from ovplace import zoo

    return zoo.names()


def _recipe(name: str) -> dict[str, Any]:
    from ovplace import zoo
    from ovplace.cli.output.settings_doc import documented_settings

    module = zoo.recipe(name)
    return {
        "name": name,
        "summary": module.SUMMARY,
        "options": [s.to_data() for s in documented_settings(module.Config)],
    }


def _config(name: str, recipe: Any, texts: tuple[str, ...]) -> Any:
    from ovplace.core.build_dataclass import build_dataclass
    from ovplace.errors import ConfigError

    values: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set takes option=value here, such as seed=1; got '{text}'")
        values[key.strip()] = value.strip()
    return build_dataclass(recipe.Config, values, name)


def _written(path: Path, ops: int) -> dict[str, Any]:
    return {"path": str(path), "ops": ops, "weight_bytes": path.with_suffix(".bin").stat().st_size}
