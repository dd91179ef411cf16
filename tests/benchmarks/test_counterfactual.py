"""The counterfactual machine has the latencies of HSDAG's paper."""

from __future__ import annotations

import pytest

from benchmarks.hsdag_paper import paper_models
from ovplace.cost.solvers.portfolio import best_certified


@pytest.mark.slow
def test_the_optimum_of_resnet_50_is_where_the_paper_found_it():
    with paper_models(["resnet-50"], "counterfactual", fp16=True) as models:
        place = models["resnet-50"]
        assert place.alone_ms() == pytest.approx({"GPU": 7.81, "CPU": 16.0}, rel=1e-3)
        assert best_certified(place.table, 10.0).value_ms == pytest.approx(7.66, rel=1e-3)
