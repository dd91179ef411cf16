from __future__ import annotations

import logging
import sys
from math import inf

import numpy as np
import optuna
import pytest

from ovplace.errors import OvplaceError
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem, trial_of

OPTUNA = registry.load("placers", "optuna")


def built(of, **settings):
    return OPTUNA.factory(of, OPTUNA.Config(**settings))


def in_state(placer, state):
    return [trial for trial in placer.study.trials if trial.state == state]


def weighed(choice):
    return 1 + choice @ np.arange(1.0, len(choice) + 1)


def told(placer, batch=1, ratio_of=weighed):
    asked = placer.ask(batch)
    placer.tell([trial_of(i, p, ratio_of(p.device_of)) for i, p in enumerate(asked)])
    return [placement.device_of.tolist() for placement in asked]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # before Optuna 5
@pytest.mark.parametrize("multivariate", [True, False])
def test_a_suggestion_is_that_of_a_study_made_by_hand(multivariate):
    of = problem(layered(15, seed=1), 3)
    placer = built(of, multivariate=multivariate)
    history = [choice for _ in range(20) for choice in told(placer)]
    by_hand = optuna.create_study()
    space = {str(group): optuna.distributions.CategoricalDistribution((0, 1, 2)) for group in range(15)}
    for choice in history:
        params = {str(group): device for group, device in enumerate(choice)}
        by_hand.add_trial(
            optuna.trial.create_trial(params=params, distributions=space, value=weighed(np.array(choice)))
        )
    seed = int(generator(of.seed, "placer", "optuna", 20).integers(2**31))
    by_hand.sampler = optuna.samplers.TPESampler(seed=seed, multivariate=multivariate)
    suggested = by_hand.ask(space).params
    assert told(placer) == [[suggested[str(group)] for group in range(15)]]


def test_groups_without_a_choice_are_no_parameters():
    supported = np.ones((6, 3), dtype=bool)
    supported[0, 1:] = supported[1, 0] = False
    placer = built(problem(chain(["Add"] * 6), 3, supported=supported))
    for _ in range(20):
        told(placer)
    trial = placer.study.trials[-1]
    assert sorted(trial.distributions) == ["1", "2", "3", "4", "5"]
    assert trial.distributions["1"].choices == (1, 2)


def test_answers_stand_in_the_study_and_failures_are_infinitely_slow():
    placer = built(problem(chain(["Add"] * 6)))
    told(placer, batch=4, ratio_of=lambda choice: inf if choice[0] else 2.0)
    done = in_state(placer, optuna.trial.TrialState.COMPLETE)
    assert [trial.value for trial in done] == [inf if trial.params["0"] else 2.0 for trial in done]
    assert len(done) == 4


def test_a_batch_counts_as_running_until_it_is_answered():
    placer = built(problem(layered(20, seed=1)))
    told(placer, batch=12)
    asked = placer.ask(5)
    assert len(in_state(placer, optuna.trial.TrialState.RUNNING)) == 5
    placer.tell([trial_of(i, placement, 1.0) for i, placement in enumerate(asked)])
    assert not in_state(placer, optuna.trial.TrialState.RUNNING)


def test_it_learns():
    placer = built(problem(layered(20, seed=1)))
    ratios = [weighed(np.array(choice)) for _ in range(80) for choice in told(placer)]
    assert np.mean(ratios[-30:]) < 0.6 * np.mean(ratios[2:32])


def test_nothing_is_logged_or_changed_for_others(caplog):
    optuna.logging.enable_propagation()
    before = optuna.logging.get_verbosity()
    with caplog.at_level(logging.DEBUG):
        told(built(problem(layered(20, seed=1))), batch=15)
    optuna.logging.disable_propagation()
    assert not caplog.records
    assert optuna.logging.get_verbosity() == before


def test_without_optuna_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(OvplaceError, match=r"pip install 'ovplace\[optuna\]'"):
        built(problem(chain(["Add"])))


def test_answers_in_another_order_change_no_suggestion():
    of = problem(layered(20, seed=1))
    first, last = (built(of, n_startup_trials=4) for _ in range(2))
    for placer, step in ((first, 1), (last, -1)):
        asked = placer.ask(12)
        for placement in asked[::step]:
            placer.tell([trial_of(0, placement, weighed(placement.device_of))])
    assert told(first) == told(last)


def test_the_state_says_which_answers_came_early():
    placer, other = (built(problem(layered(20, seed=1))) for _ in range(2))
    a, b, c = placer.ask(3)
    for placement, ratio in ((b, 2.0), (a, inf), (c, 0.5)):
        placer.tell([trial_of(0, placement, ratio)])
    assert placer.state()["ratios"] == [[1, 2.0], None, 0.5]
    other.restore(placer.state())
    values = [[trial.value for trial in in_state(p, optuna.trial.TrialState.COMPLETE)] for p in (placer, other)]
    assert values == [[inf, 2.0, 0.5]] * 2
