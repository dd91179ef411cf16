"""The `[train]` section of a training's configuration."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.zoo import families as generated


@dataclass(frozen=True)
class TrainConfig:
    """The `[train]` section.

    Attributes:
        placer: placer whose policy is trained.
        families: families of generated models.
        graphs: number of models of each family.
        held_out: number of these, the last ones, that are only evaluated.
        recipes: benchmark models, by names or tables such as `{recipe = "bert-base", tokens = 8}`.
        held_out_recipes: benchmark models that are only evaluated.
        machines: simulated machines, names or files.
        held_out_machines: simulated machines that are only evaluated.
        random_machines: number of machines generated from randomly varied devices of `machines`.
        features: node features; none if costs alone describe the nodes.
        updates: number of gradient steps.
        batch: problems per update.
        mixed: fraction of a batch whose best placement uses several devices, if there are enough such problems; they
            are rare, and the others have a trivial solution.
        seed: root seed of all random numbers.
        solver_s: time limit of the mixed-integer program for each held-out problem, seconds; 0 does not use it.
        per_graph: updates on each held-out problem alone, by policy gradient, for comparison; 0 for none.
        output: the policy file.
    """

    placer: str = "hsdag"
    families: tuple[str, ...] = ()
    graphs: int = generated.SIZE
    held_out: int = generated.SIZE // 2
    recipes: tuple[object, ...] = ()
    held_out_recipes: tuple[object, ...] = ()
    machines: tuple[str, ...] = ()
    held_out_machines: tuple[str, ...] = ()
    random_machines: int = 0
    features: tuple[str, ...] = ()
    updates: int = 1000
    batch: int = 16
    mixed: float = 0.5
    seed: int = 0
    solver_s: float = 1.0
    per_graph: int = 0
    output: str = "policy.npz"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0 <= self.mixed <= 1:
            raise ValueError(f"mixed must be between 0 and 1, got {self.mixed}")
        if self.held_out > self.graphs:
            raise ValueError(f"held_out must be at most graphs, {self.graphs}, got {self.held_out}")


_LEAST = {
    "graphs": 1, "updates": 1, "batch": 1, "held_out": 0, "random_machines": 0, "seed": 0, "solver_s": 0,
    "per_graph": 0,
}  # fmt: skip
