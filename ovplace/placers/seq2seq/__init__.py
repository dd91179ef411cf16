"""The sequence-to-sequence placer of Mirhoseini et al. (2017)."""

from ovplace.placers.seq2seq.placer import PRESETS as PRESETS
from ovplace.placers.seq2seq.placer import SUMMARY as SUMMARY
from ovplace.placers.seq2seq.placer import Config as Config
from ovplace.placers.seq2seq.placer import Placer as Placer
