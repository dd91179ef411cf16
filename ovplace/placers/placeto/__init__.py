"""Placeto: a policy that improves a placement group by group."""

from ovplace.placers.placeto.placer import PRESETS as PRESETS
from ovplace.placers.placeto.placer import SUMMARY as SUMMARY
from ovplace.placers.placeto.placer import Config as Config
from ovplace.placers.placeto.placer import Placer as Placer
from ovplace.placers.placeto.placer import Trainer as Trainer
