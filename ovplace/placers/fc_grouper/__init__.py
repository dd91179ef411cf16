"""The fully connected grouper of Liu et al. (2019)."""

from ovplace.placers.fc_grouper.placer import PRESETS as PRESETS
from ovplace.placers.fc_grouper.placer import SUMMARY as SUMMARY
from ovplace.placers.fc_grouper.placer import Config as Config
from ovplace.placers.fc_grouper.placer import Placer as Placer
