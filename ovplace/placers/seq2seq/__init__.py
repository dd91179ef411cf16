"""Sequence-to-sequence placer: an LSTM with attention gives one group after another a device.

Source: Mirhoseini et al., "Device placement optimization with reinforcement learning", ICML 2017, arXiv 1706.04972.
Published are the network (section 3.2, `network.py`, `policy.py`) and REINFORCE on the square root of the run time with
a moving baseline (section 3.1, `learning/reinforce.py`). Rollout and updates are those of
`placers/_base/policy_gradient.py`, shared with `fc_grouper` and `hierarchical`. The preset `paper` has the published
values; `docs/explanation/systems/seq2seq.md` has the formulas and all differences of the defaults.
"""

from ovplace.placers.seq2seq.config import PRESETS as PRESETS
from ovplace.placers.seq2seq.config import Config as Config
from ovplace.placers.seq2seq.placer import Placer as Placer

SUMMARY = "Mirhoseini et al. (ICML 2017): an LSTM with attention places one group after another, learned by REINFORCE"
