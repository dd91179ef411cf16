"""The files that a run reads: noticed when their contents change, the same under another path, not written over."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.errors import ModelError, UsageError
from ovplace.session.fingerprint import known_fingerprint, other_files
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder


def fingerprints(config: RunConfig) -> dict[str, str]:
    """Return what tells the files of a run from others, by the keys under which the run's store keeps it.

    Args:
        config: the effective configuration.

    Returns:
        `source` of the model's files, `input` of the inputs' file, empty for random inputs, and `machine` of the
        simulated machine, empty for real devices.

    Raises:
        ModelError: the model's files cannot be read.
        UsageError: the inputs' file cannot be read.
    """
    try:
        source = known_fingerprint(Path(config.search.model))
    except OSError as error:
        raise ModelError(
            f"cannot read the model '{config.search.model}': {error.strerror}; check its permissions"
        ) from error
    return {"source": source, **fingerprints_beside_model(config)}


def fingerprints_beside_model(config: RunConfig) -> dict[str, str]:
    """Return `input` and `machine` of `fingerprints`.

    Raises:
        UsageError: the inputs' file cannot be read.
    """
    given = config.search.input
    try:
        inputs = known_fingerprint(Path(given)) if given else ""
    except OSError as error:
        raise UsageError(f"cannot read the inputs '{given}': {error.strerror}; check its permissions") from error
    return {"input": inputs, "machine": config.plugins.backend.digest()}


def changed_file(config: RunConfig, store: RunStore) -> str:
    """Return what the run reads that has changed since it began, or is something else; empty where nothing has.

    Args:
        config: what is to be run.
        store: the run's store; what earlier versions did not keep there is not compared.
    """
    search, machine = config.search, str(config.backend.get("machine", "the simulated machine"))
    names = {"source": search.model, "input": search.input, "machine": machine}
    now = fingerprints(config)
    return next((names[key] for key, value in now.items() if store.get(key) not in (None, value)), "")


def with_names_of(config: RunConfig, earlier: RunConfig, store: RunStore) -> RunConfig:
    """Return the configuration that a run began with, its files called as `config` calls them where they are the same.

    Args:
        config: what is to be run.
        earlier: what the run began with.
        store: the run's store.
    """
    same = {key for key, value in fingerprints(config).items() if value and store.get(key) == value}
    fields = [field for key, field in (("source", "model"), ("input", "input")) if key in same]
    machine = {"machine": config.backend["machine"]} if "machine" in same and "machine" in config.backend else {}
    return replace(
        earlier,
        search=replace(earlier.search, **{field: getattr(config.search, field) for field in fields}),
        backend={**earlier.backend, **machine},
    )


def check_keeps_model(target: Path, source: Path) -> None:
    """Check that writing a file or folder does not replace the model that a run was made of, nor its weights.

    Args:
        target: the file or folder to write.
        source: a finished run; a folder without a result names no model.

    Raises:
        UsageError: it does.
        StoreError: the run's result is damaged.
    """
    run = RunFolder(source)
    if not run.result.exists():
        return
    kept = _model_files(Path(run.read_result().model.path))
    models = (target, RunFolder(target).placed_model)  # a form of several files has the placed model
    for written in (*models, *(path.with_suffix(".bin") for path in models if path.suffix == ".xml")):
        if written.resolve() in kept:
            raise UsageError(f"'{written}' is the model of the run, which would be lost; choose another place with -o")


def _model_files(model: Path) -> set[Path]:
    """Return the paths of a model and its weights; those of a model that cannot be read are not known."""
    files = [model]
    with suppress(OSError):
        files += other_files(model)
    return {path.resolve() for path in files}
