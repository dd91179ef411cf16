"""HSDAG's Table 6 beside its published code and the presets.

*Setting* is the name here, *preset* what `placer.preset=paper` has; where it differs from Table 6 the last column says
why. `test_published_network.py` in `tests/placers/hsdag` checks each line against what is built, but for the discount,
which `test_placer.py` there checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.report import Row
from ovplace.plugins import registry

TABLE_6: tuple[tuple[str, str, str, str, str], ...] = (
    ("num_devices", "2", "2", "", "as many as the machine has"),
    ("hidden_channel", "128", "128", "hidden", ""),
    ("layer_trans", "2", "2", "input_layers", ""),
    ("layer_gnn", "2", "2 and 1", "graph_layers", "the pooling has one more, as in the code"),
    ("layer_parsingnet", "2", "2", "scorer_layers", ""),
    ("gnn_model", "GCN", "GCN", "encoder", ""),
    ("dropout_network", "0.2", "0.2", "dropout", ""),
    ("dropout_parsing", "0.0", "0.0", "parsing_dropout", ""),
    ("link_ignore_self_loop", "True", "True", "", "an operation has no edge to itself"),
    ("activation_final", "True", "True", "activation_final", ""),
    ("learning_rate", "0.0001", "0.001", "learning_rate", ""),
    ("max_episodes", "100", "25", "episodes", ""),
    ("update_timestep", "20", "20", "steps", ""),
    ("K_epochs", "4", "5, not used", "epochs", ""),
    ("discount", "not given", "0.95", "discount", "as in the code"),
)
"""Name, value in the paper, in its code, the setting here, and a remark."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        preset: of the placer `hsdag`.
    """

    preset: str = "paper"


SHORT = Options()


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each line of the table."""
    settings = registry.load("placers", "hsdag").config({"preset": options.preset})
    for name, paper, code, setting, remark in TABLE_6:
        here = getattr(settings, setting, "-")
        yield {
            "name": name,
            "Table 6": paper,
            "published code": code,
            "setting": f"`placer.{setting}`" if here != "-" else "-",
            f"preset `{options.preset}`": str(here),
            "remark": remark,
        }
