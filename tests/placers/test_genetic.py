from __future__ import annotations

import numpy as np
import pytest

from ovplace.plugins import registry
from ovplace.testing.graphs import chain, layered, problem, trial_of

GENETIC = registry.load("placers", "genetic")


def built(of, **settings):
    return GENETIC.factory(of, GENETIC.Config(**settings))


def generation(placer, ratio_of):
    """Play a generation; return its choices and ratios in the order asked."""
    asked = placer.ask(1000)
    ratios = np.array([ratio_of(placement.device_of) for placement in asked])
    placer.tell([trial_of(i, p, ratio) for i, (p, ratio) in enumerate(zip(asked, ratios, strict=True))])
    return np.array([placement.device_of for placement in asked]), ratios


def weighed(choice):
    return 1 + choice @ np.arange(1.0, len(choice) + 1)


def forty(n_devices=3):
    return problem(layered(40, seed=2), n_devices)


def test_a_generation_is_the_population_and_then_all_but_the_elites():
    placer = built(forty(), population=20, elites=0.25, mutants=0.1)
    sizes = [len(generation(placer, weighed)[0]) for _ in range(3)]
    assert sizes == [20, 15, 15]


def test_the_best_live_on():
    placer, all_ratios = built(forty(), population=12, elites=0.25), np.empty(0)
    for _ in range(4):
        all_ratios = np.append(all_ratios, generation(placer, weighed)[1])
        assert placer.ratios[:3].tolist() == np.sort(all_ratios)[:3].tolist()


def test_keys_say_what_was_measured():
    """Uniform placements are not drawn from keys, and in small spaces the last ones are not either."""
    supported = np.ones((5, 3), dtype=bool)
    supported[0, 0] = supported[1, 2] = False
    of = problem(chain(["Add"] * 5), 3, supported=supported)
    placer = built(of, population=10, elites=0.2)
    answers: dict[float, tuple[int, ...]] = {}
    for _ in range(6):
        choices, ratios = generation(placer, weighed)
        answers |= {ratio: tuple(choice) for choice, ratio in zip(choices.tolist(), ratios, strict=True)}
        for keys, ratio in zip(placer.keys, placer.ratios, strict=True):
            said = np.where(of.allowed, keys, -1.0).argmax(axis=1)
            assert weighed(said) == ratio


@pytest.mark.parametrize("bias", [0.5, 0.8])
def test_children_have_their_parents_keys_by_the_bias_and_mutants_have_none(bias):
    placer = built(forty(), population=20, elites=0.25, mutants=0.2, bias=bias)
    generation(placer, weighed)
    elites, others = placer.keys[:5].copy(), placer.keys[5:].copy()
    placer.ask(1000)
    young = np.array(list(placer.offspring.values()))
    from_elites = (young[:, None] == elites).any(axis=1).mean(axis=(1, 2))
    from_others = (young[:, None] == others).any(axis=1).mean(axis=(1, 2))
    np.testing.assert_allclose(from_elites[:11] + from_others[:11], 1.0)
    assert from_elites[:11].mean() == pytest.approx(bias, abs=0.05)
    assert (from_elites[11:] + from_others[11:]).max() == 0


def test_equal_parents_do_not_end_the_search():
    """All parents alike breed the same child: its keys are drawn anew until it is new."""
    placer = built(problem(chain(["Add"] * 12)), population=8, elites=0.25, mutants=0.0)
    generation(placer, weighed)
    placer.keys[:] = placer.keys[0]
    choices, _ = generation(placer, weighed)
    assert len(np.unique(choices, axis=0)) == len(choices) == 6
    assert (choices != choices[0]).mean() < 0.4, "only as many keys are drawn anew as are needed"
