"""A whole run as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from ovplace.core.measurement import NEVER_HOPELESS, MeasureSpec

if TYPE_CHECKING:
    from ovplace.config.resolve import ChosenPlugins


RIGOROUS_ROUNDS = 20
"""Fresh processes where `--rigorous` asks for them; pyperf takes as many."""


BUDGET = 60
"""Placements measured where neither a budget nor a time is given."""


@dataclass(frozen=True)
class SearchConfig:
    """The `[search]` section: what to place, where, with how much effort.

    Attributes:
        model: the model file, in any format OpenVINO reads.
        shape: static shapes in benchmark_app's syntax; empty where the model is static.
        device: devices, in the syntax of `-d`; empty to let ovplace choose among those of the machine.
        machine: simulated machine, by name or TOML file; short for the backend `simulate` with `backend.machine`.
        cluster: scheduler of the fleet that measures, as `tls://HOST:PORT`; empty to measure on this machine.
        input: `.npz` file with one array for each input, kept with its absolute path; empty for random inputs.
        backend: name of the backend plug-in.
        placer: name of the placer plug-in.
        policy: file of a trained policy, or `shipped`; sets its placer, its features and `placer.policy`.
        coarsener: name of the coarsener plug-in.
        features: names of the node feature plug-ins; empty for the choice of the placer.
        budget: largest number of placements to measure, baselines not counted. Without a value, 60, or as many as
            `time_s` allows where that is given.
        time_s: time limit of the whole call in seconds, baselines and final comparison included; the call ends at most
            one measurement later. Reading the model may take as long as the limit, ten minutes at most; starting the
            measuring process may take as long again or a minute; and devices are measured until one works. A call that
            continues a run has the full time again. 0 for no limit.
        batch: number of placements that the placer proposes at a time, fewer where the budget ends. So a budget that is
            raised in steps may lead to other placements than one that was as large from the start.
        seed: root seed of everything random.
        emulate_gpu: whether to use the emulated GPU; without a value, where there is no real GPU.
        max_error: reject placements whose relative output error is larger. Without a value the limit is 0.001 where all
            devices compute in f32, and twice the error of the worst lower-precision device, at least 0.001, elsewhere.
        require_gain: exit with code 3 unless the verdict is `faster`.
        stages: run the placements of the search submodel by submodel, where the backend can: only what changed is
            compiled, and each submodel is timed. The final comparison runs HETERO itself in any case.
        early_exit: skip the search where the profile proves that no placement gains over 1 % on the best single device,
            even if other devices and copies between them were twice as fast as profiled. Only for placers that need a
            profile.
    """

    model: str = ""
    shape: str = ""
    device: str = ""
    machine: str = ""
    cluster: str = ""
    input: str = ""
    backend: str = "openvino"
    placer: str = "min_cut"
    policy: str = ""
    coarsener: str = "chains"
    features: tuple[str, ...] = ()
    budget: int | None = None
    time_s: float = 0.0
    batch: int = 1
    seed: int = 0
    emulate_gpu: bool | None = None
    max_error: float | None = None
    require_gain: bool = False
    stages: bool = True
    early_exit: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("budget", "batch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("time_s", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.max_error is not None and not self.max_error >= 0:
            raise ValueError(f"max_error must not be negative, got {self.max_error:g}; leave it out")

    @property
    def measurements(self) -> int | None:
        """Largest number of placements to measure; None where the time alone limits the search."""
        return self.budget or (None if self.time_s else BUDGET)


@dataclass(frozen=True)
class ComparisonConfig:
    """The `[comparison]` section: the final comparison of the best placement with the best baseline.

    Attributes:
        finalists: placements that take turns in each heat of the race, which chooses the placement to compare.
        race: largest number of measurements of the race, each with a compilation of its own.
        rounds: fresh processes, hence compilations, of the final comparison; it ends after three where the placement is
            clearly slower, and after half of them where the gain is beyond doubt.
        blocks: blocks in each round.
        repeats: smallest number of samples of each candidate in a block.
        min_time_ms: shortest time that each candidate is run in a block.
        null_control: also measure the best placement's cut between two identical aliases of one device.
    """

    finalists: int = 3
    race: int = 24
    rounds: int = 12
    blocks: int = 8
    repeats: int = 3
    min_time_ms: float = 20.0
    null_control: bool = True

    def __post_init__(self) -> None:
        """Check that rounds can be measured, and an interval formed."""
        if self.finalists < 1 or self.rounds < 2 or self.blocks < 3:
            raise ValueError(
                "the final comparison needs at least 1 finalist, 2 rounds and 3 blocks, "
                f"got {self.finalists}, {self.rounds} and {self.blocks}"
            )
        if self.race < 0:
            raise ValueError(f"race must not be negative, got {self.race}")
        MeasureSpec(blocks=self.blocks, repeats=self.repeats, min_time_ms=self.min_time_ms)  # has the rules of these


@dataclass(frozen=True)
class ProfilingConfig:
    """The `[profiling]` section: how the parts of the model are measured for placers that need a cost model.

    Attributes:
        budget_s: time limit in seconds for measuring parts; the most informative parts come first.
        repeats: samples of each part in a block.
        blocks: number of blocks; the parts that are measured together take turns block by block.
        reuse: use earlier measurements of the same model, devices and versions from the user's cache folder.
    """

    budget_s: float = 60.0
    repeats: int = 2
    blocks: int = 2
    reuse: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 < self.budget_s < inf or self.repeats < 1 or self.blocks < 1:
            raise ValueError(
                "budget_s, repeats and blocks must be positive, and budget_s finite, "
                f"got {self.budget_s:g}, {self.repeats} and {self.blocks}"
            )


@dataclass(frozen=True)
class RunConfig:
    """A whole run: each section a dataclass, plug-in sections as plain tables.

    `resolve.resolved` returns the same run with the tables complete and typed by the plug-ins' `Config`.

    Attributes:
        search: what, where, how much.
        measure: how baselines and finalists are timed; placements of the search for less long.
        comparison: how the final comparison is made.
        profiling: how parts of the model are measured, where the placer asks for that.
        placer: the placer's settings.
        coarsener: the coarsener's settings.
        backend: the backend's settings.
        features: settings of node features by name, such as `{"work": {...}}`.
        devices: device variants by name: `{base = "CPU", properties = {...}}`.
    """

    search: SearchConfig = field(default_factory=SearchConfig)
    measure: MeasureSpec = field(default_factory=MeasureSpec)
    comparison: ComparisonConfig = field(default_factory=ComparisonConfig)
    profiling: ProfilingConfig = field(default_factory=ProfilingConfig)
    placer: Mapping[str, object] = field(default_factory=dict)
    coarsener: Mapping[str, object] = field(default_factory=dict)
    backend: Mapping[str, object] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    devices: Mapping[str, object] = field(default_factory=dict)

    @property
    def round_spec(self) -> MeasureSpec:
        """How each candidate is timed in a round of the final comparison."""
        own = self.comparison
        return replace(
            self.measure,
            blocks=own.blocks,
            repeats=own.repeats,
            min_time_ms=own.min_time_ms,
            hopeless_ratio=NEVER_HOPELESS,
        )

    @cached_property
    def plugins(self) -> ChosenPlugins:
        """The plug-ins of the run with their settings, typed; loaded once.

        Raises:
            UsageError: a plug-in is unknown.
            ConfigError: a setting of it is not understood, or `machine` or `policy` was not resolved.
        """
        from ovplace.config.resolve import choose

        return choose(self)
