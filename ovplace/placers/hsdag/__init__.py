"""HSDAG: encoder, parsing network and device head learned end to end from measured latency.

Source: Duan et al., "A structure-aware framework for learning device placements on computation graphs", NeurIPS 2024,
arXiv 2405.14185. Published are the node features (section 2.2, `FEATURES`), the encoder (equation 6,
`network/encoder.py`), the parsing network (equations 7 to 11, `network/parsing.py` and `parsing_network.py`), the
device classifier (equation 12, `network/policy.py`), the state of an episode (section 2.5, `rollout.py`) and the reward
(equation 14, `rewards.py`). The preset `paper` has these only; `docs/explanation/systems/hsdag.md` has the formulas and
all differences of the defaults.
"""

from ovplace.placers.hsdag.config import PRESETS as PRESETS
from ovplace.placers.hsdag.config import Config as Config
from ovplace.placers.hsdag.placer import Placer as Placer
from ovplace.placers.hsdag.trainer import Trainer as Trainer

SUMMARY = "HSDAG (NeurIPS 2024): encodes, parses into groups and places them, learned end to end by REINFORCE"

FEATURES = ("op_type", "in_degree", "out_degree", "fractal_dimension", "position", "position_encoding", "output_shape")
"""Default node features: HSDAG, section 2.2."""
