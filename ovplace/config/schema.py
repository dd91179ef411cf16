"""A whole run as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ovplace.core.measurement import MeasureSpec

if TYPE_CHECKING:
    from ovplace.config.resolve import ChosenPlugins


RIGOROUS_ROUNDS = 20
"""Fresh processes where `--rigorous` asks for them; pyperf takes as many."""


@dataclass(frozen=True)
class SearchConfig:
    """The `[search]` section: what to place, where, with how much effort.

    Attributes:
        model: the model file, in any format OpenVINO reads.
        shape: static shapes in benchmark_app's syntax; empty where the model is static.
        device: devices as `-d` takes them; empty chooses by what the machine has.
        machine: simulated machine, a name or a TOML file; short for the backend `simulate` with `backend.machine`.
        cluster: scheduler of the fleet that measures, as `tls://HOST:PORT`; empty measures on this machine.
        input: `.npz` with one array an input; empty for random inputs.
        backend: name of the backend plug-in.
        placer: name of the placer plug-in.
        policy: file of a trained policy, or `shipped`; short for its placer and features with `placer.policy`.
        coarsener: name of the coarsener plug-in.
        features: names of the node feature plug-ins; empty leaves it to the placer.
        budget: placements to measure beside the baselines, at most.
        time_s: seconds of the whole call, baselines and final comparison included, which ends at most one measurement
            later; a call that continues a run has them anew; 0 for no limit.
        batch: placements asked for at a time.
        seed: root seed of everything random.
        emulate_gpu: use (or never use) the emulated GPU; None decides by the machine.
        max_error: reject placements whose relative output error is larger; None accepts any and reports it.
        require_gain: exit 3 unless the verdict is `faster`.
        stages: run the placements of the search submodel by submodel, where the backend can: only what changed is
            compiled, and each submodel is timed. The final comparison runs HETERO itself in any case.
        early_exit: skip the search where the profile proves that no placement gains over 1 % on the best single device,
            even if each cost is wrong by a factor of 2. Only for placers that need a profile.
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
    budget: int = 60
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
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("time_s", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.max_error is not None and not self.max_error >= 0:
            raise ValueError(f"max_error must not be negative, got {self.max_error:g}; leave it out")


@dataclass(frozen=True)
class ComparisonConfig:
    """The `[comparison]` section: the final comparison of the best placement with the best baseline.

    Attributes:
        finalists: placements that take turns when those that may be the best are measured again before one is chosen.
        race: measurements of that, at most, each with a compilation of its own; it ends when one is surely the best.
        rounds: fresh processes, hence compilations, of the final comparison; three suffice where all are surely lost,
            half where the gain is beyond doubt.
        blocks: blocks in each round.
        repeats: samples of each candidate in a block, at least.
        min_time_ms: time each candidate is run in a block, at least.
        null_control: also run the best placement's cut between two identical aliases.
    """

    finalists: int = 3
    race: int = 24
    rounds: int = 12
    blocks: int = 8
    repeats: int = 3
    min_time_ms: float = 20.0
    null_control: bool = True

    def __post_init__(self) -> None:
        """Check that an interval can be formed."""
        if self.finalists < 1 or self.rounds < 2 or self.blocks < 3:
            raise ValueError("the final comparison needs at least 1 finalist, 2 rounds and 3 blocks")
        if self.race < 0:
            raise ValueError(f"race must not be negative, got {self.race}")


@dataclass(frozen=True)
class ProfilingConfig:
    """The `[profiling]` section: how the parts of the model are measured for placers that need a cost model.

    Attributes:
        budget_s: seconds of measuring parts, at most; the most telling parts come first.
        repeats: samples of each part in a block.
        blocks: blocks, in which the parts of a request take turns.
        reuse: take what was measured before for the same model, devices and versions from the user's cache folder.
    """

    budget_s: float = 60.0
    repeats: int = 2
    blocks: int = 2
    reuse: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.budget_s <= 0 or self.repeats < 1 or self.blocks < 1:
            raise ValueError("budget_s, repeats and blocks must be positive")


@dataclass(frozen=True)
class RunConfig:
    """A whole run: each section a dataclass, plug-in sections as plain tables.

    `resolve.resolved` returns the same run with the tables complete and typed by the plug-ins' `Config`.

    Attributes:
        search: what, where, how much.
        measure: how each placement is timed.
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

    @cached_property
    def plugins(self) -> ChosenPlugins:
        """The plug-ins of the run with their settings, typed; loaded once.

        Raises:
            UsageError: a plug-in is unknown.
            ConfigError: a setting of it is not understood, or `machine` or `policy` was not resolved.
        """
        from ovplace.config.resolve import choose

        return choose(self)
