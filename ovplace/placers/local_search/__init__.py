"""Local search: systematic moves of regions of the model, then simulated annealing."""

from ovplace.placers.local_search.placer import SUMMARY as SUMMARY
from ovplace.placers.local_search.placer import Config as Config
from ovplace.placers.local_search.placer import Placer as Placer
