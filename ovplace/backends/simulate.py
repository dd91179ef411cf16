"""Simulates a machine: the sequential cost model with measuring noise."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import ClassVar

import numpy as np

from ovplace.config.files import absolute
from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Job, Measurement, MeasureSpec
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.cost.evaluate.design_matrix import parameters, stage_matrix
from ovplace.cost.evaluate.effective_devices import effective_devices, split_mixed_groups
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.restrict import restrict
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import own_name, read_graph
from ovplace.plugins import protocols
from ovplace.seeds import generator
from ovplace.simulation.machine_file import load_machine
from ovplace.simulation.noise import RequestNoise
from ovplace.version import __version__

SUMMARY = "a simulated machine: no inference is run"


@dataclass(frozen=True)
class Config:
    """Settings of the simulation.

    Attributes:
        machine: name of a machine that comes with ovplace, or a TOML file, which is kept with its absolute path.
        noise: strength of the machine's noise; 0 for none, 1 for what the machine says.
        seed: seed of noise and crashes, combined with the seed of the run.
    """

    machine: str = "i9-12900k+flex170"
    noise: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers; a run is read from other folders than it began in."""
        object.__setattr__(self, "machine", absolute(self.machine) if self.machine.endswith(".toml") else self.machine)
        if not 0 <= self.noise < inf or self.seed < 0:
            raise ValueError(
                f"noise and seed must not be negative, and noise finite, got {self.noise:g} and {self.seed}"
            )


@dataclass
class _Run:
    """A candidate that runs, or why it does not."""

    failure: Measurement | None = None
    latency_ms: float = 0.0
    submodels: tuple[str, ...] = ()
    stage_shares: FloatArray = field(default_factory=lambda: np.zeros(0))  # of the latency, where it is staged
    execution: str = ""
    blocks: list[list[float]] = field(default_factory=list)


_Answer = tuple[float, tuple[str, ...], FloatArray]


class _RefusedError(Exception):
    """A candidate fails; the arguments are the kind of failure and its text."""


class Backend(protocols.Backend):
    """One model on one simulated machine."""

    simulated: ClassVar[bool] = True
    knows_costs: ClassVar[bool] = True
    varies_by_process: ClassVar[bool] = False

    def __init__(self, job: Job) -> None:
        """Read the model and the machine.

        Raises:
            UsageError: there is no such machine.
            ConfigError: its file is not understood.
            DeviceError: a device of the job is not on it.
            ModelError: the model cannot be read.
        """
        self._config = Config(**job.options)
        self._machine = load_machine(self._config.machine).having(job.devices)
        self._names = tuple(device.name for device in job.devices)
        self._reader_shares = reader_shares(job.devices)
        self._path, self._seed = Path(job.model_path), job.seed
        self._model = own_name(self._path)
        self._graph = read_graph(self._path)
        self._legal = legal_groups(self._graph)
        self._log = self._path.with_suffix(".requests")
        self._asked = _logged(self._log)
        self._answers: dict[str, _Answer] = {}

    @classmethod
    def own_devices(cls, config: Config) -> tuple[str, tuple[Device, ...]]:
        """Return the name of the machine and its devices: a run cannot have others.

        Raises:
            UsageError: there is no such machine.
            ConfigError: its file is not understood.
        """
        machine = load_machine(config.machine)
        return machine.name, machine.as_devices()

    @classmethod
    def digest(cls, config: Config) -> str:
        """Return what tells this machine from another, or from itself before its file was changed."""
        return load_machine(config.machine).digest

    def facts(self) -> Mapping[str, str]:
        """Return what the figures depend on, first of all that they are simulated."""
        factors = zip(self._names, self._machine.factors(self._model).tolist(), strict=True)
        return {
            "simulated": self._machine.name,
            "machine_hash": self._machine.digest,
            "calibration": f"{self._model}: " + ", ".join(f"{name} x {factor:g}" for name, factor in factors),
            "noise": f"{self._config.noise:g} times the machine's, seed {self._config.seed}",
            "ovplace": __version__,
            "cpu": f"simulated: {self._machine.name}",
        }

    def supported(self) -> BoolArray:
        """Return which device says it can run which operation, `[N, D]`."""
        return self._machine.supported(self._graph)

    def costs(self, partition: Partition) -> CostTable:
        """Return what the groups of `partition` cost on the devices of the job: the model that `measure` answers by.

        Raises:
            PlacementError: no device can run a group.
        """
        return self._machine.table(self._graph, partition, self._model)

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Return latencies by the cost model, with the noise of candidates that take turns."""
        rng = self._noise_of(candidates, spec)
        noise = RequestNoise(self._machine.noise.scaled(self._config.noise), rng)
        runs = [self._run(candidate, rng) for candidate in candidates]
        running = [i for i, run in enumerate(runs) if run.failure is None]
        references = [at for at, i in enumerate(running) if candidates[i].reference]
        taken = noise.in_turns_ms([runs[i].latency_ms for i in running], spec, references)
        for i, blocks in zip(running, taken, strict=True):
            runs[i].blocks = [block.tolist() for block in blocks]
        return [self._measurement(run) for run in runs]

    def _measurement(self, run: _Run) -> Measurement:
        if run.failure is not None:
            return run.failure
        samples = tuple(sample for block in run.blocks for sample in block)
        return Measurement(
            samples_ms=samples,
            stages_ms=tuple((float(np.median(samples)) * run.stage_shares).tolist()),
            blocks=tuple(len(block) for block in run.blocks),
            first_ms=run.blocks[0][0],
            submodels=run.submodels,
            facts={"simulated": self._machine.name, "execution_devices": run.execution},
        )

    def _run(self, candidate: Candidate, rng: np.random.Generator) -> _Run:
        crashes = rng.random() < self._machine.crash_probability
        try:
            placement = self._placement(candidate)
            if crashes:
                raise _RefusedError(ErrorKind.CRASH, "the simulated process crashed")
            latency_ms, chain, stage_shares = self._answer(candidate, placement)
        except _RefusedError as error:
            return _Run(Measurement.failed(*error.args, facts={"simulated": self._machine.name}))
        automatic = candidate.target.startswith("AUTO")
        return _Run(None, latency_ms, () if automatic else chain, stage_shares, ",".join(placement.used))

    def _answer(self, candidate: Candidate, placement: Placement) -> _Answer:
        """Return latency, submodels and the stages' shares, worked out once: the reference is asked for every time."""
        if candidate.hash not in self._answers:
            latency_ms = self._latency_ms(placement, candidate.part)
            chain = placement.used if placement.is_uniform else tuple(placement.submodels(self._graph))
            shares = (
                self._stage_shares(placement)
                if candidate.staged and len(chain) > 1 and not candidate.part
                else np.zeros(0)
            )
            self._answers[candidate.hash] = latency_ms, chain, shares
        return self._answers[candidate.hash]

    def _placement(self, candidate: Candidate) -> Placement:
        """Return what a candidate comes to, on the devices of the job, checked."""
        if candidate.placement is None:
            placement = self._targeted(candidate.target)
        else:
            placement = self._translated(candidate.placement)
        run = self._operations(candidate.part)
        refused = run[~self._compiles[run, placement.device_of[run]]]
        if len(refused):
            op, device = int(refused[0]), self._names[int(placement.device_of[refused[0]])]
            text = f"{device} (simulated) cannot run '{self._graph.names[op]}' of type {self._graph.types[op]}"
            raise _RefusedError(ErrorKind.COMPILE, text)
        return placement

    def _operations(self, part: Sequence[int]) -> IntArray:
        run = np.array(part or range(len(self._graph)), dtype=np.int64)
        if run.min() < 0 or run.max() >= len(self._graph):
            text = f"the part has operation {run.max()}, the model has {len(self._graph)}"
            raise _RefusedError(ErrorKind.COMPILE, text)
        return run

    @cached_property
    def _compiles(self) -> BoolArray:
        """Operations that compile on each device, `[N, D]`: fewer than the devices claim to support."""
        return np.stack([device.compiles(self._graph) for device in self._machine.devices], axis=1)

    def _translated(self, placement: Placement) -> Placement:
        if len(placement.device_of) != len(self._graph):
            text = f"the placement is of {len(placement.device_of)} operations, the model has {len(self._graph)}"
            raise _RefusedError(ErrorKind.COMPILE, text)
        unknown = [name for name in placement.used if name not in self._names]
        if unknown:
            text = f"there is no device '{unknown[0]}' on the simulated machine; there are {', '.join(self._names)}"
            raise _RefusedError(ErrorKind.COMPILE, text)
        return Placement(placement.indices(self._names), self._names)

    def _targeted(self, target: str) -> Placement:
        """Return what OpenVINO itself would choose.

        HETERO gives each operation the first device of its list that can run it, AUTO the model the first that can
        run all of it.
        """
        head, colon, listed = target.rpartition(":")
        names = listed.split(",")
        if any(name not in self._names for name in names) or head not in (("HETERO", "AUTO") if colon else ("",)):
            raise _RefusedError(ErrorKind.COMPILE, f"the simulated machine does not understand '{target}'")
        order = np.array([self._names.index(name) for name in names])
        able = self.supported()[:, order]
        if head != "HETERO":
            able = np.broadcast_to(able.all(axis=0), able.shape)
        if not able.any(axis=1).all():
            raise _RefusedError(ErrorKind.COMPILE, f"no device of '{target}' can run all that is left to it")
        return Placement(order[able.argmax(axis=1)], self._names)

    def _latency_ms(self, placement: Placement, part: Sequence[int]) -> float:
        partition, table, device_of = self._grouped(placement)
        if part:
            groups = np.unique(partition.group_of[list(part)])
            table, device_of = restrict(table, groups), device_of[groups]
        self._check_memory(table, device_of)
        return float(latency_ms(table, device_of[None])[0])

    def _grouped(self, placement: Placement) -> tuple[Partition, CostTable, IntArray]:
        """Return the groups of a placement with their costs, and the device of each, `[G]`."""
        partition, device_of = split_mixed_groups(self._legal, effective_devices(self._graph, placement.device_of))
        # HETERO's own choice may split a legal group; what a search proposes never does.
        table = self._legal_table if partition.n_groups == self._legal.n_groups else self.costs(partition)
        return partition, table, device_of

    def _stage_shares(self, placement: Placement) -> FloatArray:
        """Return the part that each submodel has in the latency, `[M]`; submodels that share a group, equal parts."""
        partition, table, device_of = self._grouped(placement)
        stages = Stages.of(self._graph, partition, placement.device_of, self._reader_shares)
        stage_ms = (stage_matrix(table, device_of, stages) @ parameters(table)) / stages.n_submodels
        each_ms = stage_ms[stages.stage_of_submodel]
        return np.asarray(each_ms / each_ms.sum())

    @cached_property
    def _legal_table(self) -> CostTable:
        return self.costs(self._legal)

    def _check_memory(self, table: CostTable, device_of: IntArray) -> None:
        needed = np.bincount(device_of, weights=table.group_bytes, minlength=table.n_devices)
        full = np.flatnonzero(needed > table.memory_bytes)
        if len(full):
            d = int(full[0])
            text = f"{self._names[d]} (simulated) is out of memory: {needed[d] / 1e9:.3g} GB of "
            raise _RefusedError(ErrorKind.MEMORY, f"{text}{table.memory_bytes[d] / 1e9:.3g} GB")

    def _noise_of(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> np.random.Generator:
        """Return the generator of a request: another one each time the same is asked, in whatever process.

        A run that goes on has a new measuring process, whose measurements must not repeat earlier ones; so what was
        asked is noted beside the model.
        """
        timed = replace(spec, hopeless_ratio=MeasureSpec.hopeless_ratio)  # whoever is cut short, the noise is the same
        texts = (*(candidate.hash for candidate in candidates), timed.key(), str((self._seed, self._config.seed)))
        key = hashlib.blake2b("\n".join(texts).encode(), digest_size=12).hexdigest()
        count = self._asked[key]
        self._asked[key] += 1
        with contextlib.suppress(OSError), self._log.open("a", encoding="ascii") as log:
            log.write(f"{key}\n")
        return generator(self._seed, "simulate", self._config.seed, key, count)


def _logged(log: Path) -> Counter[str]:
    """Return how often each request was asked before; damage in the file is a request that nobody asks."""
    try:
        return Counter(log.read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return Counter()
