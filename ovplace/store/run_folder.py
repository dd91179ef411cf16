"""The files of a run folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ovplace.atomic import atomic_write, write_json
from ovplace.config import toml
from ovplace.config.files import reachable
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig
from ovplace.core.result.run_result import RunResult
from ovplace.core.text.json_text import parse_json
from ovplace.core.text.placement_table import parse_table
from ovplace.errors import PlacementError, StoreError
from ovplace.store.lock import holder, locked
from ovplace.store.run_db import RunStore

LINKS = "links"
"""Name of the folder that is there while the links between devices are profiled."""


@dataclass(frozen=True)
class RunFolder:
    """A run folder: the names of its files, and reading and writing them.

    Attributes:
        path: the folder; it need not exist.
    """

    path: Path

    def __str__(self) -> str:
        """Return the path, for messages."""
        return str(self.path)

    @property
    def typed(self) -> str:
        """The path as it is typed in a command: in quotes where a shell needs them, and never like an option."""
        text = str(self.path)
        return shlex.quote(f"./{text}" if text.startswith("-") else text)

    @property
    def config(self) -> Path:
        """The configuration, in TOML; it is there once the run has begun."""
        return self.path / "config.toml"

    @property
    def database(self) -> Path:
        """The run's measurements, trials and checkpoint, in SQLite."""
        return self.path / "run.db"

    @property
    def given_model(self) -> Path:
        """The model as it was given, where that was an object in memory and no file."""
        return self.path / "given.xml"

    @property
    def given_inputs(self) -> Path:
        """The inputs as they were given, where those were arrays in memory and no file."""
        return self.path / "given.npz"

    @property
    def prepared_model(self) -> Path:
        """The prepared model, without a placement until the run is finished; the `.bin` next to it has its weights."""
        return self.path / "placed.xml"

    @property
    def placed_model(self) -> Path:
        """The prepared model of a finished run, which carries the placement and its provenance: the same file."""
        return self.prepared_model

    @property
    def placement(self) -> Path:
        """The placement: one flat JSON object, operation name to device name."""
        return self.path / "placement.json"

    @property
    def result(self) -> Path:
        """The result as JSON, written last."""
        return self.path / "result.json"

    @property
    def report(self) -> Path:
        """The report of a finished run, for a browser."""
        return self.path / "report.html"

    @property
    def score(self) -> Path:
        """What the tables of an ablation show of a finished run; only in an ablation."""
        return self.path / "score.json"

    @property
    def requests(self) -> Path:
        """How often each placement was measured; only on a simulated machine."""
        return self.prepared_model.with_suffix(".requests")

    @property
    def lock(self) -> Path:
        """The lock file; it is there while a process searches."""
        return self.path / "run.lock"

    @property
    def has_begun(self) -> bool:
        """True if a run has begun here."""
        return self.config.exists()

    @property
    def temporary_names(self) -> tuple[str, ...]:
        """Names of what is made under a temporary name first, so that a killed process may leave it."""
        files = (self.config, self.given_inputs, self.placement, self.result, self.score, self.report)
        return (LINKS, *(path.name for path in files))

    def answer_files(self) -> list[Path]:
        """Return the files of the answer that are there."""
        weights = self.placed_model.with_suffix(".bin")
        return [path for path in (self.placed_model, weights, self.placement, self.result) if path.exists()]

    def check_exists(self) -> None:
        """Check that the folder is there.

        Raises:
            PlacementError: it is not, or is a file.
            UsageError: it may not be entered, or no folder has such a name.
        """
        if reachable(self.path, "the run folder").is_dir():
            reachable(self.result, "the result")
            return
        if self.path.exists():
            raise PlacementError(
                f"'{self}' is a file, not a run folder; give the folder it is in: '{self.path.parent}'"
            )
        raise PlacementError(
            f"there is no run folder '{self}'; check the path, or make it with 'ovplace optimize MODEL -o {self.typed}'"
        )

    def check_finished(self) -> None:
        """Check that all files of a finished run are there.

        Raises:
            PlacementError: there is no folder, or a file is missing.
        """
        self.check_exists()
        wanted = (self.result, self.placement, self.database, self.config, self.prepared_model)
        missing = [path.name for path in wanted if not path.exists()]
        if len(missing) == len(wanted) and not holder(self.lock):
            raise self.no_run()
        if missing:
            raise self.unfinished(missing[0])

    def check_may_begin(self) -> None:
        """Check that a run has begun here, or may still do so.

        Raises:
            PlacementError: it is a file, or a folder of runs.
            UsageError: it may not be entered, or no folder has such a name.
        """
        if reachable(self.path, "the run folder").exists():
            self.check_exists()
        if not self.has_begun and self._inside():
            raise self.no_run()

    def no_run(self) -> PlacementError:
        """Return the error of a folder in which no run has begun; it may hold others."""
        advice = f"'ovplace optimize MODEL -o {self.typed}' begins one"
        if inside := self._inside():
            advice = f"give one that is in it, such as '{inside[0]}'"
        return PlacementError(f"'{self}' holds no run; {advice}")

    def _inside(self) -> list[Path]:
        """Return the run folders in it: those of several models, or of an ablation."""
        depth = "*/*/*/*" if (self.path / "ablation.json").exists() else "*"
        return sorted(path.parent for path in self.path.glob(f"{depth}/config.toml"))

    def unfinished(self, missing: str) -> PlacementError:
        """Return the error of a file that only a finished run has.

        Args:
            missing: the name of the file.
        """
        advice = "run the 'ovplace optimize' command again"
        if found := holder(self.lock):
            advice = f"{found} searches it; 'ovplace show {self.typed}' tells how far it is"
        return PlacementError(f"'{self}' holds no finished run: there is no {missing}; {advice}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and keep other processes from searching there while a block runs; delete it if it is empty.

        Raises:
            InUseError: one does.
            StoreError: the folder cannot be made or written.
            UsageError: it can be made, but its files cannot be reached.
        """
        show, elsewhere = f"'ovplace show {self.typed}'", "choose another place with -o"
        advice = f"{show} tells how far it is; for a run beside it choose another folder with -o"
        if self.has_begun:
            elsewhere = f"{show} only reads it; to go on, make it writable, or {elsewhere}"
        is_new = not self.path.exists()
        try:
            self.create()
            with locked(self.lock, f"the run in '{self}' is being searched by", advice, elsewhere):
                yield
        finally:
            if is_new:
                with suppress(OSError):  # it is not empty
                    self.path.rmdir()

    def create(self) -> None:
        """Make the folder.

        Raises:
            StoreError: it cannot be made.
            UsageError: it can, but its files cannot be reached.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        reachable(self.prepared_model, "the prepared model")

    def read_config(self) -> RunConfig:
        """Return the configuration of the run that has begun here; its saved inputs are where the folder is now.

        Raises:
            ConfigError: the file is damaged, or holds what this version does not know.
        """
        stored = toml.read_stored(self.config)
        with toml.naming(self.config):
            config = resolved(stored)
        saved = self.given_inputs
        if Path(config.search.input).name != saved.name or not saved.exists():
            return config
        return replace(config, search=replace(config.search, input=str(saved)))

    def write_config(self, config: RunConfig) -> None:
        """Note what the folder is for.

        Raises:
            StoreError: it cannot be written.
        """
        try:
            atomic_write(self.config, toml.stored(config))
        except OSError as error:
            raise self._unwritable(error) from error

    def open_store(self) -> RunStore:
        """Open the run's store, which the caller closes.

        Raises:
            StoreError: it cannot be read, or is of another version.
        """
        return RunStore(self.database)

    def read_result(self) -> RunResult:
        """Return the result.

        Raises:
            StoreError: it cannot be read, is damaged, or is of a version that this one does not read.
        """
        try:
            return RunResult.from_json(parse_json(self.result.read_text(encoding="utf-8")), self.path)
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read the run in '{self}': {error}; run its 'ovplace optimize' again") from error

    def read_placement(self) -> dict[str, str]:
        """Return the placement of the answer: device name of each operation, by the operation's name.

        Raises:
            StoreError: it cannot be read.
        """
        try:
            return parse_table(self.placement.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            raise StoreError(
                f"cannot read the placement '{self.placement}': {error}; run its 'ovplace optimize' again"
            ) from error

    def read_answer(self) -> tuple[RunResult, dict[str, str]]:
        """Return the result and the placement.

        Raises:
            StoreError: they cannot be read, or the placement names a device that the run was not on.
        """
        result, table = self.read_result(), self.read_placement()
        if strange := sorted(set(table.values()) - set(result.device_names)):
            raise StoreError(
                f"'{self.placement}' names the device '{strange[0]}', the run was on {', '.join(result.device_names)}; "
                "run its 'ovplace optimize' again"
            )
        return result, table

    def write_result(self, result: RunResult) -> None:
        """Write the result.

        Raises:
            StoreError: it cannot be written.
        """
        write_json(self.result, result.to_json())

    def delete(self, path: Path) -> None:
        """Delete a file of the folder that is made anew, if it is there.

        Raises:
            StoreError: it cannot be deleted.
        """
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot delete '{path}', to make it anew: {error.strerror}; delete it, and repeat the same command"
            ) from error

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"cannot write the run folder '{self}': {error.strerror}; choose another with -o")
