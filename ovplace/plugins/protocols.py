"""The roles of plug-ins: every method and name that ovplace uses of a plug-in.

A plug-in is a module: a file (or a package) in `features/`, `coarseners/`, `placers/`, `backends/` or `exporters/`, or
an entry point of another package. Its file name is its name. It holds a frozen dataclass `Config`, its section of the
configuration, and one class named after its role that inherits the class of that name on this page. Abstract methods
must be written; all others have a default here, which a plug-in may override.

Module-level names are read by `ovplace.plugins.registry.Plugin` only; they are listed in `PluginModule`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

from ovplace.atomic import atomic_write
from ovplace.core.certificate import Certificate
from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, Job, Measurement, MeasureSpec, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph

State = Mapping[str, Any]
"""Data that `json.dumps` accepts, numpy arrays excluded."""

TrainerClass: TypeAlias = "type[Trainer]"


class PluginModule(Protocol):
    """Names at the top level of a plug-in's module, besides the class of its role, with their defaults.

    Attributes:
        Config: frozen dataclass of the plug-in's settings, each with a default. Required.
        SUMMARY: one line for `ovplace placers` and `ovplace export --help`; by default the docstring's first line.
        PRESETS: settings for each value of the setting `preset`; they replace the defaults, and settings that the user
            gives replace them.
        FEATURES: for a placer: node features to compute if the user names none (`search.features`).
        VOCABULARY: for a feature: the meaning of its columns; a policy file is refused if it was trained with another.
        Trainer: for a placer: the class that trains its policy in `ovplace train`; it inherits `Trainer`.
    """

    Config: type[Any]
    SUMMARY: str = ""
    PRESETS: Mapping[str, Mapping[str, object]] = {}
    FEATURES: tuple[str, ...] = ()
    VOCABULARY: tuple[str, ...] = ()
    Trainer: TrainerClass | None = None


class Feature(ABC):
    """Describes each operation by numbers. Built as `Feature(config)` when a run is set up."""

    def __init__(self, config: Any) -> None:
        """Keep the settings."""
        self.config = config

    @abstractmethod
    def compute(self, graph: OpGraph) -> FloatArray:
        """Return one finite row for each operation, `[N, F]`; renaming or reordering operations reorders the rows."""


class Coarsener(ABC):
    """Merges legal groups, which are inseparable, into fewer. Built as `Coarsener(config)` when a run is set up."""

    def __init__(self, config: Any) -> None:
        """Keep the settings."""
        self.config = config

    @abstractmethod
    def coarsen(self, graph: OpGraph, legal: Partition, allowed: BoolArray) -> Partition:
        """Return a partition of the operations `[N]` in which every legal group stays whole.

        Args:
            graph: the prepared model.
            legal: the groups that HETERO can place one by one, G of them.
            allowed: whether each device can run each legal group, `[G, D]`. A group of the result runs on a device if
                all of its legal groups do.
        """


class Placer(ABC):
    """Proposes placements and learns from their latencies. Built as `Placer(problem, config)` before the search.

    Random numbers come only from `ovplace.seeds.generator(problem.seed, "placer", ...)`, so that the seed determines
    what the placer proposes.
    """

    @classmethod
    def needs_costs(cls, config: Any) -> bool:
        """Return whether `problem.costs` must be given; the run then profiles the model before building the placer.

        Args:
            config: the placer's settings.
        """
        return False

    @abstractmethod
    def __init__(self, problem: Problem, config: Any) -> None:
        """Begin a search.

        Args:
            problem: the graph, its groups `[G]`, the devices `[D]`, features `[N, F]` and, where needed, costs.
            config: the placer's settings.
        """

    @abstractmethod
    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements to measure next; none when there is nothing left to try.

        Each has the devices of the problem in their order, and each group on one of them, as `problem.lift` returns it.
        Repeating an earlier placement is allowed and costs nothing: the stored measurement is the answer.
        """

    @abstractmethod
    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn from the measurements of the placements that `ask` returned last, in its order, failures included."""

    @abstractmethod
    def state(self) -> State:
        """Return all that `restore` needs to go on as if never interrupted; stored after each `ask`."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from `state`, which another instance of the same problem and config returned."""

    @property
    def asynchronous(self) -> bool:
        """Whether `ask` may be called before `tell` has delivered all answers, in any order; False by default.

        Where several machines measure, such a placer is asked again as soon as one is free.
        """
        return False

    @property
    def ends(self) -> bool:
        """Whether the placer ends by itself, so that repeated placements do not end the search; False by default."""
        return False

    @property
    def info(self) -> Mapping[str, float]:
        """Numbers about the finished search, such as `{"updates": 12}`, for the result; none by default."""
        return {}

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know of the finished search, a sentence each, for the result; nothing by default."""
        return ()

    def certificate(self, time_limit_s: float) -> Certificate | None:
        """Return a proof of how good the best proposal is under the cost model, for the result; None without one.

        Args:
            time_limit_s: seconds that it may take at most; infinite for no limit.
        """
        return None


class Trainer(ABC):
    """Trains the policy of a placer on many problems, all of which have costs.

    Built as `Trainer(config, n_features, seed)` by `ovplace train`.

    Attributes:
        network: the torch module; its shapes depend neither on the number of devices nor on that of groups.
        settings: values of the placer's settings that a policy file has to keep.
    """

    network: Any
    settings: Mapping[str, object]

    @abstractmethod
    def __init__(self, config: Any, n_features: int, seed: int) -> None:
        """Build the network.

        Args:
            config: the placer's settings.
            n_features: columns F of the problems' node features.
            seed: of weights and draws.
        """

    @abstractmethod
    def update(self, problems: Sequence[Problem], number: int) -> float:
        """Improve the policy by one gradient step.

        Args:
            problems: the batch.
            number: how many updates came before.

        Returns:
            The mean logarithm of latency over optimum of what the policy chooses.
        """

    @abstractmethod
    def reinforce(self, problems: Sequence[Problem], number: int) -> float:
        """Do as `update`, from latencies of the policy's own placements alone: no solver's placement is imitated.

        Args:
            problems: the batch.
            number: how many updates came before.

        Returns:
            The mean logarithm of latency over optimum of what the policy chooses.
        """

    @abstractmethod
    def place(self, problem: Problem) -> IntArray:
        """Return the device that the policy chooses for each group, `[G]`, without any search."""

    @abstractmethod
    def dump(self) -> str:
        """Return all that `restore` needs to go on as if never interrupted."""

    @abstractmethod
    def restore(self, text: str) -> None:
        """Go on from what `dump` returned."""


class Backend(ABC):
    """Compiles and times candidates. Built as `Backend(job)` inside the measuring process.

    A failure of a candidate is a `Measurement` with an error; only what makes measuring impossible is raised. What the
    methods return goes to another process, which reads plain data, NumPy arrays and dataclasses, and refuses a
    `defaultdict`, for example.

    Attributes:
        simulated: whether no inference is run; an ablation does several simulated runs at the same time.
        knows_costs: whether `costs` returns the costs of groups; a run then calls it instead of profiling the model.
        runs_stages: whether `measure` runs staged candidates submodel by submodel and times each; a search then asks
            for that.
        varies_by_process: whether latencies depend on the process, as those of compiled code do; each heat and each
            round of the final comparison is then measured in a fresh one.
    """

    simulated: ClassVar[bool] = False
    knows_costs: ClassVar[bool] = False
    runs_stages: ClassVar[bool] = False
    varies_by_process: ClassVar[bool] = True

    @classmethod
    def available(cls) -> str:
        """Return "" if it can work on this machine, else why not and what to do; called before a run."""
        return ""

    @classmethod
    def own_devices(cls, config: Any) -> tuple[str, tuple[Device, ...]] | None:
        """Return the name and the devices of the machine that it stands for; None to take this machine's devices.

        Asked when devices are chosen, before a measuring process exists. The `facts` of each hold at least `full_name`.

        Args:
            config: the backend's settings.
        """
        return None

    @classmethod
    def digest(cls, config: Any) -> str:
        """Return a hash of the machine that it stands for; a run is not continued if it has changed.

        Args:
            config: the backend's settings.
        """
        return ""

    @classmethod  # noqa: B027 - there need not be anything to import
    def preload(cls, job: Job) -> None:
        """Import the modules that take long to import; the model's file need not exist yet.

        Asked in the measuring process before it builds the backend, while another process prepares or measures.

        Args:
            job: what it will be built from.
        """

    @abstractmethod
    def __init__(self, job: Job) -> None:
        """Open the model on the devices of the job; `job.options` holds the settings."""

    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """Return versions, drivers and hardware: what results depend on; part of the store's key.

        The fact `core.accuracy.NOT_FINITE` names outputs without finite values, of which little can be checked.
        """

    @abstractmethod
    def supported(self) -> BoolArray:
        """Return which device of the job can run which operation of the model, `[N, D]`; asked once a run."""

    def automatic(self, target: str) -> Mapping[str, str]:
        """Return the device that OpenVINO itself gives each operation; empty if the backend has no OpenVINO.

        Args:
            target: what a user would compile for, such as `HETERO:GPU,CPU`.

        Returns:
            Device by operation name; an operation that no device takes is left out.
        """
        return {}

    @abstractmethod
    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Time the candidates in turns, block by block.

        Args:
            candidates: what to time; each has a part of the model, a placement or a device text.
            spec: blocks, repeats and deadlines.

        Returns:
            One measurement for each candidate, in their order.
        """

    def costs(self, partition: Partition) -> CostTable:
        """Return what the groups of `partition` cost on the devices of the job; asked where `knows_costs` is true."""
        raise NotImplementedError(f"{type(self).__module__} has no costs to tell")


class Exporter(ABC):
    """Writes the answer of a finished run in another format. Built as `Exporter(config)` by `ovplace export`.

    Attributes:
        target: usual name, within the run folder, of the file, or of the folder where there are several files.
    """

    target: ClassVar[str] = "exported"

    def __init__(self, config: Any) -> None:
        """Keep the settings."""
        self.config = config

    @abstractmethod
    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the answer; the folder above `target` is there.

        Args:
            folder: a finished run, or an exported one.
            target: the file or folder to write.

        Returns:
            The files written, the main one first.
        """

    def limits(self, folder: Path) -> tuple[str, ...]:
        """Return what this format cannot carry of the placement in `folder`, one line each; shown after writing.

        Args:
            folder: a finished run, or an exported one.
        """
        return ()

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return advice, shown after writing, on how to use what was written; empty for none.

        Args:
            run: the run folder as the user named it.
            written: what `write` returned.
        """
        return ""


class TextExporter(Exporter):
    """Base of exporters whose format is one text, which goes to standard output where the user names no file."""

    @abstractmethod
    def text(self, folder: Path) -> str:
        """Return the answer of the finished run in `folder`.

        Raises:
            OvplaceError: the folder cannot be read.
        """

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the text to the file `target`, in UTF-8; where that fails, the old file stays."""
        atomic_write(target, self.text(folder))
        return [target]
