"""`ovplace.measure`, and timing the answer of a run again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ovplace.api.given_inputs import with_saved_inputs
from ovplace.api.model_file import find_model
from ovplace.api.options import MeasureOptions, placement_table, search_fields, setting_texts
from ovplace.api.python_texts import with_python_texts
from ovplace.commands.measure import THE_PLACEMENT, MeasureReport
from ovplace.commands.measure import measure as measure_all
from ovplace.commands.own_devices import with_own_devices
from ovplace.commands.run_inputs import with_inputs
from ovplace.config.boolean import given_bool
from ovplace.config.schema import RIGOROUS_ROUNDS, RunConfig
from ovplace.progress import showing
from ovplace.session.configure import effective
from ovplace.session.events import Listener
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov

    from ovplace.api.run import Run


@with_python_texts
def measure(
    model: str | Path | ov.Model,
    placement: Mapping[str, str] | Mapping[str, Mapping[str, str]] | None = None,
    *,
    rigorous: bool = False,
    settings: str | Sequence[str] = (),
    config_file: str | Path | None = None,
    progress: bool = True,
    listener: Listener | None = None,
    **options: Unpack[MeasureOptions],
) -> MeasureReport:
    """Time a model on each device, in turns with HETERO's automatic mode (`device="HETERO:..."`) and with placements.

    Args:
        model: a file of any format OpenVINO reads, or an in-memory model; `demo` comes with ovplace.
        placement: device of each operation of the prepared model, as `run.placement` is, or several of them by names
            of your own; none by default.
        rigorous: use twenty fresh processes, and enough samples for each percentile.
        settings: `section.key=value` strings, as `--set` takes them.
        config_file: a TOML file, or the name of one that comes with ovplace.
        progress: show a progress bar, where there is a terminal or a notebook.
        listener: a function that is called at each step (`Progress`), in place of the progress bar.
        **options: where to measure: `device=["GPU", "CPU"]`, `shape=[1, 3, 224, 224]`, ... (`MeasureOptions`).

    Raises:
        OvplaceError: the model, a device or the placement is not usable.

    Example:
        >>> import ovplace
        >>> report = ovplace.measure("models/demo.xml", machine="i9-12900k+flex170")
        >>> [(row.name, row.error) for row in report.measured]
        [('GPU', None), ('CPU', None)]
    """
    rounds = RIGOROUS_ROUNDS if given_bool(rigorous, "rigorous") else 1
    with without_search(model, options, settings, config_file) as config, showing(progress, listener) as shown:
        return measure_all(config, _placement_tables(placement), shown, rounds)


@contextmanager
def without_search(
    model: str | Path | ov.Model,
    options: Mapping[str, Any],
    settings: str | Sequence[str],
    config_file: str | Path | None,
) -> Iterator[RunConfig]:
    """Yield the configuration of a call that searches nothing.

    Args:
        model: a file, or a model in memory, which is saved into a folder that is deleted afterwards.
        options: `MeasureOptions`.
        settings: `section.key=value` strings.
        config_file: a TOML file, or the name of one that comes with ovplace.

    Raises:
        UsageError: an option or setting is not understood.
    """
    given, settings = search_fields(options, MeasureOptions.__annotations__), setting_texts(settings)
    with tempfile.TemporaryDirectory() as folder:
        source = _source(model, Path(folder))
        given = with_saved_inputs(given, model, Path(folder))
        yield effective(config_file, settings, {"model": source, **given})


def measure_run(
    run: Run,
    *,
    input: str | Path = "",
    rigorous: bool = False,
    progress: bool = True,
    listener: Listener | None = None,
) -> MeasureReport:
    """Time the answer of a run beside its devices and HETERO's automatic mode in each order, in turns.

    Args:
        run: a finished run.
        input: `.npz` file with one array for each input; the inputs of the run by default.
        rigorous: twenty fresh processes.
        progress: show a progress bar, where there is a terminal or a notebook.
        listener: a function that is called at each step (`Progress`), in place of the progress bar.

    Raises:
        OvplaceError: a device is not on this machine, or the folder or the inputs are there no longer.
    """
    files = RunFolder(run.folder)
    files.check_finished()
    config = with_inputs(with_own_devices(files.read_config(), run), str(input))
    search = replace(config.search, model=str(files.placed_model), shape="")  # the placed model has its shapes
    rounds = RIGOROUS_ROUNDS if given_bool(rigorous, "rigorous") else 1
    with showing(progress, listener) as shown:
        tables = {THE_PLACEMENT: run.placement}
        return measure_all(replace(config, search=search), tables, shown, rounds, every_order=True)


def _placement_tables(placement: object) -> dict[str, Mapping[str, str]]:
    """Return the placements that a caller gave, by name: none, one, or a mapping of several.

    Raises:
        UsageError: one is no mapping of texts.
    """
    given: Mapping[object, object] = {THE_PLACEMENT: placement}
    if isinstance(placement, Mapping) and any(isinstance(table, Mapping) for table in placement.values()):
        given = placement
    tables = {str(name): placement_table(table) for name, table in given.items()}
    return {name: table for name, table in tables.items() if table is not None}


def _source(model: str | Path | ov.Model, folder: Path) -> str:
    if isinstance(model, str | Path):
        return find_model(model)
    from ovplace.ir.saving import save_in_memory_model

    return str(save_in_memory_model(model, folder, begun=False))
