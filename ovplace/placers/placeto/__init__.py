"""Placeto: a policy that improves a placement group by group.

Source: Addanki et al., "Learning generalizable device placement algorithms for distributed machine learning", NeurIPS
2019, arXiv 1906.08879, and its published code. Published are the decision process and its rewards (section 3.1,
`rollout.py`, `returns.py`), features, message passing and pooling (section 3.2, `observation.py`, `network.py`). The
preset `paper` has these only; `docs/explanation/systems/placeto.md` has the formulas and all differences of the
defaults.
"""

from ovplace.placers.placeto.config import PRESETS as PRESETS
from ovplace.placers.placeto.config import Config as Config
from ovplace.placers.placeto.placer import Placer as Placer
from ovplace.placers.placeto.trainer import Trainer as Trainer

SUMMARY = (
    "Placeto (NeurIPS 2019): improves a placement group by group, learned on the cost model, confirmed by measuring"
)
