"""The four roles that a plug-in can play, and what trains a placer's policy, on one page.

A plug-in is one file in `features/`, `coarseners/`, `placers/` or `backends/` (or an entry point of another
package). Its file name is its name; it holds a frozen dataclass `Config` (its TOML section) and one class named after
the role: `Feature`, `Coarsener`, `Placer`, `Backend`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph

State = Mapping[str, object]
"""What `json.dumps` accepts, numpy arrays excluded."""


@runtime_checkable
class NodeFeature(Protocol):
    """Describes operations by numbers."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return one finite row an operation, `[N, F]`; renaming or reordering operations reorders the rows."""
        ...


@runtime_checkable
class Coarsener(Protocol):
    """Groups the legal groups further."""

    def coarsen(self, graph: OpGraph, legal: Partition) -> Partition:
        """Return a partition of the operations `[N]` in which every legal group stays whole."""
        ...


@runtime_checkable
class Placer(Protocol):
    """Proposes placements and learns from how they did.

    Built as `Placer(problem, config)`; draws only from `ovplace.seeds.generator(problem.seed, "placer", ...)`. A class
    (or its `Config`, where it depends on settings) with a true attribute `needs_costs` gets a problem with `costs`: the
    parts of the model are then measured first. A module's `FEATURES` names the node features it wants where the user
    names none. An attribute `info`, a flat table of numbers, goes into the result.
    """

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements to measure next; none when there is nothing left to try.

        Repeating an earlier placement is allowed and free: it is answered from the store.
        """
        ...

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn from the measured answer to the last `ask`, in its order, failures among them."""
        ...

    def state(self) -> State:
        """Return all that `restore` needs to go on exactly as if never interrupted."""
        ...

    def restore(self, state: State) -> None:
        """Go on from `state`, which another instance of the same problem and config returned."""
        ...


@runtime_checkable
class Trainer(Protocol):
    """Trains the policy of a placer on many problems; a placer whose module has a class of this name is trainable.

    Built as `Trainer(config, n_features, seed)`: the placer's settings, the columns of the problems' node features,
    and the seed of weights and draws. All problems have costs.
    """

    network: Any
    """The torch module; its shapes depend neither on the number of devices nor on that of groups."""

    settings: Mapping[str, object]
    """Values of the placer's settings that a policy file has to keep."""

    def update(self, problems: Sequence[Problem], number: int) -> float:
        """Improve the policy by one gradient step, the `number`th; return the mean log of latency over optimum."""
        ...

    def place(self, problem: Problem) -> IntArray:
        """Return the device that the policy chooses for each group, `[G]`, without any search."""
        ...

    def dump(self) -> str:
        """Return all that `restore` needs to go on exactly as if never interrupted."""
        ...

    def restore(self, text: str) -> None:
        """Go on from what `dump` returned."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Compiles and times candidates. Built as `Backend(job)` inside the measuring process.

    A failure of a candidate is a `Measurement` with an error; only what makes measuring impossible is raised.
    """

    simulated: ClassVar[bool]

    @classmethod
    def available(cls) -> str:
        """Return an empty text if it can work on this machine, else why not and what to do."""
        ...

    def facts(self) -> Mapping[str, str]:
        """Return versions, drivers and hardware: what results depend on and the store's key holds."""
        ...

    def supported(self) -> BoolArray:
        """Return which device of the job can run which operation of the model, `[N, D]`."""
        ...

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Time the candidates in turns, block by block, and return one measurement each, in their order."""
        ...
