"""Fully connected grouper: a network sorts operations into groups, another gives each group a device.

Source: Liu et al., "An effective method for operations placement in TensorFlow", HP3C 2019, of which only the abstract
is available; its gaps are filled in from Mirhoseini, Goldie et al., "A hierarchical model for device placement", ICLR
2018 (`policy.py`, `feed_forward.py`). Rollout and updates are those of `placers/_base/policy_gradient.py`, shared with
`seq2seq` and `hierarchical`. `docs/explanation/systems/fc_grouper.md` has the formulas and all differences.
"""

from ovplace.placers.fc_grouper.config import PRESETS as PRESETS
from ovplace.placers.fc_grouper.config import Config as Config
from ovplace.placers.fc_grouper.placer import Placer as Placer

SUMMARY = "fully connected grouper (Liu et al., HP3C 2019): learns to group, then places each group by itself"
