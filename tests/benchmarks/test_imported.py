"""The benchmark of imported placements has its ways take turns."""

from __future__ import annotations

import importlib
from collections import Counter

imported = importlib.import_module("benchmarks.stages.imported")


def test_each_way_is_the_first_of_a_block_equally_often(monkeypatch):
    ways = {way: way for way in ("compiled", "plain", "shared", "whole")}
    timed = []

    def block_ms(way):
        timed.append(way)
        return 1.0

    monkeypatch.setattr(imported, "_block_ms", block_ms)
    found = imported._in_turns(ways)
    assert {way: len(blocks) for way, blocks in found.items()} == dict.fromkeys(ways, imported.BLOCKS)
    assert Counter(timed[len(ways) :: len(ways)]) == dict.fromkeys(ways, imported.BLOCKS // len(ways))
