"""A finished run: its result, and what can be done with it."""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ovplace.api.python_texts import with_python_texts
from ovplace.config.files import given_path
from ovplace.core.measurement import Trial
from ovplace.core.result.labels import label
from ovplace.core.result.run_result import RunResult
from ovplace.errors import ExportWarning, UsageError
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov
    import pandas as pd
    from matplotlib.axes import Axes

    from ovplace.commands.benchmark import Benchmarked
    from ovplace.commands.checking.check_report import CheckReport
    from ovplace.commands.measure import MeasureReport
    from ovplace.session.events import Listener

Api = Literal["sync", "async"]


class Run(RunResult):
    """A finished run, as `ovplace.optimize` returns it and `ovplace.open_run` opens it.

    It has all attributes of `RunResult`, such as `best`, `verdict` and `baselines`. Its other attributes are read from
    the run folder when they are first used.

    Example:
        >>> import ovplace
        >>> run = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> run
        <Run 'runs/demo': CPU (simulated) is the answer>
        >>> len(run.trials), run.trials[0].origin, run.trials[0].ratio
        (5, 'min_cut', 1.0)
        >>> run.placement["logits"]
        'CPU'
        >>> [path.name for path in run.export("json", "runs/demo.json")]
        ['demo.json']
    """

    @classmethod
    def of(cls, result: RunResult) -> Run:
        """Return the run that a result is of."""
        run = cls(**{field.name: getattr(result, field.name) for field in fields(RunResult)})
        _ = run._absolute  # now, as a program may change its working directory later
        return run

    def __repr__(self) -> str:
        """Return the folder and the answer."""
        from ovplace.api.summary import headline

        return f"<Run '{self.folder}': {headline(self)}>"

    def _repr_html_(self) -> str:
        """Return the small table that notebooks show."""
        from ovplace.api.summary import html

        return html(self)

    @cached_property
    @with_python_texts
    def placement(self) -> dict[str, str]:
        """The answer, that is, the device of each operation of the prepared model, by the operation's name."""
        return self._files.read_placement()

    @cached_property
    @with_python_texts
    def trials(self) -> tuple[Trial, ...]:
        """The placements that the placer proposed, in order, each with its measurement."""
        with closing(self._files.open_store()) as store:
            return tuple(store.trials())

    def trials_frame(self) -> pd.DataFrame:
        """Return the trials as a pandas data frame, one row each, indexed by number.

        Raises:
            UsageError: pandas is not installed.
        """
        from ovplace.api.trials import trials_frame

        return trials_frame(self.trials)

    def plot_history(self, axes: Axes | None = None) -> Axes:
        """Draw the ratio of each trial to the best single device, by origin, and the best ratio so far.

        Args:
            axes: matplotlib axes to draw into; new ones by default.

        Raises:
            UsageError: matplotlib is not installed.
        """
        from ovplace.api.history import plot_history

        return plot_history(self, axes)

    @with_python_texts
    def load(self, core: ov.Core | None = None, *, cache_dir: str | Path | None = None) -> ov.CompiledModel:
        """Compile the answer, as `ovplace.load` does.

        Args:
            core: the core to compile with; a new one by default.
            cache_dir: folder of OpenVINO's cache, from which later calls load instead of compiling; none by default.

        Raises:
            OvplaceError: the placement does not compile on this machine.
        """
        from ovplace.ir.load import load

        return load(self._path, core, cache_dir=cache_dir)

    @with_python_texts
    def export(self, form: str, path: str | Path | None = None, **settings: object) -> list[Path]:
        """Write the answer in another format, as `ovplace export` does.

        Args:
            form: name of the format: `python`, `cpp`, `json`, `blob`, `netron`, `dot`, ...
            path: the file to write, or the folder if the format has several files; by default one in the run folder.
            **settings: settings of the exporter.

        Returns:
            The files written, the main one first.

        Raises:
            OvplaceError: there is no such format or setting, `path` is no path, a file of a run or its model, or the
                files cannot be written.

        Warns:
            ExportWarning: the format cannot carry all of the placement, such as variants of a device.
        """
        from ovplace.commands.export import export, exporter, limits

        using = exporter(str(form), [f"{name}={value}" for name, value in settings.items()])
        target = given_path(path, "the export", "'exported'") if path else None
        left_out = limits(self._path, using)
        written = export(self._path, using, target)
        for limit in left_out:
            warnings.warn(limit, ExportWarning, stacklevel=3)
        return written

    @with_python_texts
    def measure(
        self,
        *,
        input: str | Path = "",
        rigorous: bool = False,
        progress: bool = True,
        listener: Listener | None = None,
    ) -> MeasureReport:
        """Time the answer again, in turns with each device alone and HETERO's automatic mode with each device first.

        Args:
            input: `.npz` file with one array for each input; the inputs of the run by default.
            rigorous: use twenty processes, and enough samples for each percentile.
            progress: show a progress bar, where there is a terminal or a notebook.
            listener: a function that is called at each step (`Progress`), in place of the progress bar.

        Raises:
            OvplaceError: a device is not on this machine, or the inputs are not there.
        """
        from ovplace.api.measurement import measure_run

        run = replace(self, folder=self._path)
        return measure_run(run, input=input, rigorous=rigorous, progress=progress, listener=listener)

    @with_python_texts
    def check(
        self,
        *,
        time: str | float = 0.0,
        input: str | Path = "",
        rigorous: bool = False,
        progress: bool = True,
        listener: Listener | None = None,
    ) -> CheckReport:
        """Return whether the answer still holds on this machine: whether it compiles, computes the same and wins again.

        Args:
            time: time limit of the call: seconds, or a string such as `2m`; 0 for no limit.
            input: `.npz` file with one array for each input; the inputs of the run by default.
            rigorous: use up to twenty fresh processes in the comparison.
            progress: show a progress bar, where there is a terminal or a notebook.
            listener: a function that is called at each step (`Progress`), in place of the progress bar.

        Raises:
            OvplaceError: files of the run are damaged.
        """
        from ovplace.api.checking import check_run

        return check_run(self._path, time=time, input=input, rigorous=rigorous, progress=progress, listener=listener)

    @with_python_texts
    def benchmark(
        self,
        *,
        time: str | float = "10s",
        api: Api = "sync",
        requests: int = 0,
        input: str | Path = "",
        progress: bool = True,
    ) -> list[Benchmarked]:
        """Run each baseline and the answer for some time each, as `ovplace benchmark` does.

        They do not take turns, so small differences say little; `measure` times them in turns.

        Args:
            time: time of each candidate: seconds, or a string such as `10s`.
            api: `sync`, or `async` for several inference requests in flight.
            requests: inference requests in flight with `async`; 0 for the number that the compiled model asks for.
            input: `.npz` file with one array for each input; the inputs of the run by default.
            progress: show a progress bar, where there is a terminal or a notebook.

        Raises:
            UsageError: the run is simulated, the inputs are not there, or an argument is not usable.
        """
        from ovplace.api.benchmarking import benchmark_run

        return benchmark_run(self._path, time, api, requests, progress, input)

    @with_python_texts
    def report(self, path: str | Path | None = None) -> Path:
        """Write the report of the run: one HTML file that needs no network.

        Args:
            path: the file; `report.html` in the run folder by default.

        Returns:
            The file written.

        Raises:
            UsageError: `path` is no path, a folder, the run's model, or another of the files of a run.
            StoreError: it cannot be written.
        """
        from ovplace.report.write import write_report

        target = given_path(path, "the report", "'report.html'") if path else None
        if target and target.is_dir():
            raise UsageError(f"the report is a file, '{target}' is a folder; give a file in it, such as 'report.html'")
        return write_report(self._path, target)

    def label(self, name: str) -> str:
        """Return the name of a device or baseline, marked where it is emulated or simulated."""
        return label(self, name)

    @property
    def _files(self) -> RunFolder:
        files = RunFolder(self._path)
        files.check_exists()  # it may have been moved since
        return files

    @property
    def _path(self) -> Path:
        """The run folder as it was named, or its absolute path where that name means another folder by now."""
        return self.folder if self.folder.absolute() == self._absolute else self._absolute

    @cached_property
    def _absolute(self) -> Path:
        return self.folder.absolute()


@with_python_texts
def open_run(folder: str | Path) -> Run:
    """Open the folder of a finished run.

    Args:
        folder: the run folder.

    Raises:
        UsageError: `folder` is no path.
        PlacementError: there is no finished run.
        StoreError: its files are damaged, or of a version that this one does not read.

    Example:
        >>> import ovplace
        >>> run = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> ovplace.open_run("runs/demo") == run
        True
    """
    files = RunFolder(given_path(folder, "the run folder", "run.folder"))
    files.check_finished()
    return Run.of(files.read_result())
