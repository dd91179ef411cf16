"""Greedy list placer after Baechi's m-ETF."""

from ovplace.placers.etf.placer import SUMMARY as SUMMARY
from ovplace.placers.etf.placer import Config as Config
from ovplace.placers.etf.placer import Placer as Placer
