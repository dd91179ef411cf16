from __future__ import annotations

from math import inf

import numpy as np
import pytest

from ovplace.plugins import registry
from ovplace.testing.graphs import chain, layered, problem, trial_of

CROSS_ENTROPY = registry.load("placers", "cross_entropy")


def built(of, **settings):
    return CROSS_ENTROPY.factory(of, CROSS_ENTROPY.Config(**settings))


def generation(placer, ratio_of):
    """Play a generation; return its choices and ratios, best first."""
    asked = placer.ask(1000)
    ratios = np.array([ratio_of(placement.device_of) for placement in asked])
    placer.tell([trial_of(i, p, ratio) for i, (p, ratio) in enumerate(zip(asked, ratios, strict=True))])
    order = np.argsort(ratios, kind="stable")
    return np.array([placement.device_of for placement in asked])[order], ratios[order]


def weighed(choice):
    return 1 + choice @ np.arange(1.0, len(choice) + 1)


def frequency(choices, n_devices):
    return np.stack([(choices == device).mean(axis=0) for device in range(n_devices)], axis=1)


def thirty(n_devices=3):
    return problem(layered(30, seed=2), n_devices)


@pytest.mark.parametrize("smoothing", [0.3, 1.0])
def test_probabilities_move_to_the_elite(smoothing):
    placer = built(thirty(), samples=40, elites=0.1, smoothing=smoothing, keep_elites=False)
    odds = np.full((30, 3), 1 / 3)
    for _ in range(3):
        choices, _ = generation(placer, weighed)
        assert len(choices) == 40
        odds = (1 - smoothing) * odds + smoothing * frequency(choices[:4], 3)
        np.testing.assert_allclose(placer.probabilities, odds)
    assert weighed(odds.argmax(axis=1)) < 1 + 30 * 31 / 2, "lower devices are better, and so are the probable ones"


def test_the_elite_of_earlier_generations_competes_where_it_is_kept():
    placer = built(thirty(), samples=10, elites=0.2, smoothing=1.0)
    first, _ = generation(placer, lambda choice: weighed(choice) / 1000)
    generation(placer, weighed)
    np.testing.assert_allclose(placer.probabilities, frequency(first[:2], 3))


def test_failures_are_not_elite():
    placer = built(thirty(), samples=10, elites=1.0, smoothing=1.0)
    generation(placer, lambda choice: inf)
    np.testing.assert_allclose(placer.probabilities, 1 / 3)
    generation(placer, lambda choice: inf if choice[0] else weighed(choice))
    assert placer.probabilities[0].tolist() == [1.0, 0.0, 0.0]
    assert generation(placer, weighed)[0].shape == (10, 30), "the search goes on"


@pytest.mark.parametrize("mixing", [0.0, 0.5])
def test_draws_follow_the_probabilities_and_the_mixing(mixing):
    supported = np.ones((30, 3), dtype=bool)
    supported[:10, 2] = False
    placer = built(problem(layered(30, seed=2), 3, supported=supported), samples=3000, mixing=mixing, uniform=False)
    placer.probabilities = np.tile([0.7, 0.3, 0.0], (30, 1))
    drawn = frequency(np.array([placement.device_of for placement in placer.ask(3000)]), 3)
    even = supported / supported.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(drawn, (1 - mixing) * np.array([0.7, 0.3, 0.0]) + mixing * even, atol=0.05)


def test_certain_probabilities_do_not_end_the_search():
    placer = built(problem(chain(["Add"] * 10)), samples=4, elites=0.25, smoothing=1.0, mixing=0.0)
    asked = [choice for _ in range(10) for choice in generation(placer, weighed)[0].tolist()]
    assert len({tuple(choice) for choice in asked}) == 40
