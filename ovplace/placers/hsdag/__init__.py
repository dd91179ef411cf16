"""HSDAG: encoder, parsing network and device choice learned together from measured latency."""

from ovplace.placers.hsdag.placer import FEATURES as FEATURES
from ovplace.placers.hsdag.placer import PRESETS as PRESETS
from ovplace.placers.hsdag.placer import SUMMARY as SUMMARY
from ovplace.placers.hsdag.placer import Config as Config
from ovplace.placers.hsdag.placer import Placer as Placer
from ovplace.placers.hsdag.placer import Trainer as Trainer
