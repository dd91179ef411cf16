"""The counterfactual machine has the latencies of HSDAG's paper."""

from __future__ import annotations

import pytest

from benchmarks.searches.place import Place
from ovplace import zoo
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.ir.prepare.prepare import prepare


@pytest.mark.slow
def test_the_optimum_of_resnet_50_is_where_the_paper_found_it(tmp_path):
    source, target = tmp_path / "source.xml", tmp_path / "resnet-50.xml"
    zoo.save_recipe("resnet-50", zoo.recipe("resnet-50").Config(), source, fp16=True)
    prepare(source, target)
    place = Place(target, "counterfactual")
    assert place.alone_ms() == pytest.approx({"GPU": 7.81, "CPU": 16.0}, rel=1e-3)
    assert best_certified(place.table, 10.0).value_ms == pytest.approx(7.66, rel=1e-3)
