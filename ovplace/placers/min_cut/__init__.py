"""Optima of a measured cost model, which is refitted to the measurements of the search."""

from ovplace.placers.min_cut.placer import SUMMARY as SUMMARY
from ovplace.placers.min_cut.placer import Config as Config
from ovplace.placers.min_cut.placer import Placer as Placer
