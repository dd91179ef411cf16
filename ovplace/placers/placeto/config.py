"""Settings of the placer `placeto`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ovplace.learning.setting_checks import check_choices, check_numbers
from ovplace.placers.placeto.network import HEADS, PlacetoSettings
from ovplace.placers.placeto.returns import REWARDS, LearningSettings
from ovplace.placers.placeto.rollout import EpisodeSettings

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "head": "classes", "hidden": 0, "rounds": 8, "embedding_layers": 3, "activation_final": True, "masked": True,
        "pooling": "sum", "summed": True, "encodings": 0, "evaluations": 0, "coherent": False, "start": "fixed",
        "reward": "difference", "normalise": False, "entropy": 1.0, "entropy_end": 0.0, "anneal": 500,
        "uniform": False, "updates": 1, "proposals": 1,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: as published, docs/explanation/systems/placeto.md has the gaps."""

STARTS = ("best", "first", "fixed", "varying")


@dataclass(frozen=True)
class Config(PlacetoSettings, EpisodeSettings, LearningSettings):
    """Settings in addition to those of network, episodes and learning; a preset changes the defaults.

    Attributes:
        preset: `paper` is the published method; `tuned` performs better here.
        policy: file of a trained policy to start from, whose network settings replace these; `shipped` is the included
            one, empty starts with random weights.
        episodes: parallel episodes (Placeto's workers).
        start: initial placement of episodes: the `best` one measured so far, all groups on the `first` device, a
            `fixed` random placement, or a `varying` random one for each.
        updates: updates between two batches of proposals.
        proposals: placements per batch: the best found and not yet measured.
        uniform: measure each single device first.
        measured: in episodes, the measured latency of a placement replaces that of the cost model.
        makespan: devices run in parallel in the cost model, as in the paper; HETERO runs them one after another.
        memory_penalty: penalty factor on the latency for each fraction of a device's memory that is exceeded.
        imitation: updates of `ovplace train` that imitate the best known placement, before those by REINFORCE.
    """

    preset: str = "tuned"
    policy: str = ""
    episodes: int = 8
    start: str = "best"
    updates: int = 2
    proposals: int = 4
    uniform: bool = True
    measured: bool = False
    makespan: bool = False
    memory_penalty: float = 2.0
    imitation: int = 1000

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        check_choices(self, _CHOICES)
        check_numbers(self, _AT_LEAST_ONE)
        if self.discount > 1:
            raise ValueError(f"discount must be at most 1, got {self.discount}")

    @property
    def policy_settings(self) -> Mapping[str, object]:
        """Settings stored in a policy file: those that the shape of the network depends on."""
        return {f.name: getattr(self, f.name) for f in fields(PlacetoSettings)}


_CHOICES = {
    "preset": tuple(PRESETS),
    "head": HEADS,
    "start": STARTS,
    "reward": REWARDS,
    "pooling": ("mean", "sum"),
    "partition": ("three", "one"),
    "order": ("topological", "random"),
}
_AT_LEAST_ONE = ("embedding_layers", "episodes", "sweeps", "window", "anneal", "updates", "proposals")
