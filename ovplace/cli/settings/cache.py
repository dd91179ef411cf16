"""`ovplace cache`: what earlier runs left for later ones."""

from __future__ import annotations

import dataclasses

import click

from ovplace.cli.arguments import options
from ovplace.errors import StoreError


@click.command(short_help="Show or empty the cache of profiles and compiled models.")
@click.option("--clear", is_flag=True, help="Delete everything in it; later runs measure and compile anew.")
@options.as_json
@options.common
def command(clear: bool, as_json: bool) -> None:
    """Show the cache that all runs share: profiles, compiled models with kernels (blobs), and models of a fleet.

    The cache is in the folder $OVPLACE_CACHE if it is set, and otherwise in ovplace under $XDG_CACHE_HOME or ~/.cache.
    The setting backend.blobs_mib limits the size of the compiled models and kernels.
    """
    from ovplace.cli.output.tables import show_json, show_table
    from ovplace.core.result.labels import size
    from ovplace.core.text.plural import plural
    from ovplace.store.cache import cache_content, cache_folder, empty_cache

    found = cache_content()
    content = empty_cache() if clear else found
    if as_json:
        show_json({"folder": str(cache_folder()), "content": [dataclasses.asdict(entry) for entry in content]})
    else:
        click.echo(f"{'deleted from' if clear else 'cache in'} {cache_folder()}:")
        show_table(["kind", "files", "size"], [[c.kind, str(c.files), size(c.n_bytes)] for c in content], right=(1, 2))
    if (left := sum(entry.files for entry in found) - sum(entry.files for entry in content)) > 0:
        files = plural(left, "file")
        raise StoreError(f"{files} in '{cache_folder()}' cannot be deleted; check the permissions of its folders")
