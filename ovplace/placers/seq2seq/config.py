"""Settings of the placer `seq2seq`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from ovplace.learning.setting_checks import check_choices
from ovplace.placers._base.policy_gradient import PolicyGradientSettings

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "hidden": 128, "attention": 128, "bidirectional": False, "aligned": False, "switches": 0.0, "samples": 10,
        "signal": "sqrt", "failure_ratio": 100.0, "baseline": "failure", "decay": 0.9, "drop_failures_after": 100,
        "normalised": False, "learning_rate": 1e-3, "epochs": 1, "clip": 0.0, "entropy": 0.0, "entropy_end": 0.0,
        "max_grad_norm": 1.0, "uniform": False, "redraws": 0,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: `configs/placers/seq2seq.toml` says which of them are published."""


@dataclass(frozen=True)
class Seq2SeqSettings:
    """Settings of the network.

    Attributes:
        hidden: size of the states of encoder and decoder, even.
        attention: size of the attention's keys and queries.
        bidirectional: the encoder reads in both directions, with half of `hidden` for each.
        aligned: the decoder also receives the encoder's output at the group it decides on; otherwise by attention only.
        tanh_constant: logits are bounded to plus or minus this by tanh; 0 for no bound.
        temperature: divisor of the logits.
    """

    hidden: int = 64
    attention: int = 32
    bidirectional: bool = True
    aligned: bool = True
    tanh_constant: float = 0.0
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Check ranges."""
        if self.hidden < 2 or self.hidden % 2:
            raise ValueError(f"hidden must be even and at least 2, got {self.hidden}")
        if self.attention < 1:
            raise ValueError(f"attention must be at least 1, got {self.attention}")
        if not 0 <= self.tanh_constant < inf or not 0 < self.temperature < inf:
            raise ValueError(
                "tanh_constant must be at least 0 and temperature positive, both finite, "
                f"got {self.tanh_constant} and {self.temperature}"
            )


@dataclass(frozen=True)
class Config(Seq2SeqSettings, PolicyGradientSettings):
    """Settings in addition to those of the network, the search and learning; a preset changes the defaults.

    Attributes:
        preset: `paper` is the published method; `tuned` finds good placements in few measurements.
        switches: expected number of device changes along the order in the first draws: initial value of a learned bias
            towards the device of the previous group; 0 for no bias.
        type_size: size of the embedding of an operation type.
        adjacency: highest number of columns for a group's predecessors, and for its successors; in larger graphs
            adjacent groups in the order share a column.
    """

    preset: str = "tuned"
    samples: int = 5
    learning_rate: float = 1e-2
    entropy: float = 0.01
    switches: float = 4.0
    type_size: int = 64
    adjacency: int = 256

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        Seq2SeqSettings.__post_init__(self)
        PolicyGradientSettings.__post_init__(self)
        check_choices(self, {"preset": PRESETS})
        if not 0 <= self.switches < inf:
            raise ValueError(f"switches must be at least 0 and finite, got {self.switches}")
        if min(self.type_size, self.adjacency) < 1:
            raise ValueError(f"type_size and adjacency must be at least 1, got {self.type_size} and {self.adjacency}")
