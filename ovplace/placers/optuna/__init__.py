"""Optuna's TPE sampler on one categorical parameter for each group."""

from ovplace.placers.optuna.placer import SUMMARY as SUMMARY
from ovplace.placers.optuna.placer import Config as Config
from ovplace.placers.optuna.placer import Placer as Placer
