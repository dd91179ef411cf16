"""The race finds the best placement, also where the search was misled by noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.search.comparison import race as race_module
from ovplace.search.comparison.belief import Belief
from ovplace.search.comparison.expectation import Expectation
from ovplace.search.comparison.race import Field, Heat, Standing, noise_of, race, standing
from ovplace.testing.measurements import measured_ms, placements, profiled, true_table

NOISE = 0.02


class Track:
    """Placements of known latency; each heat has a level of its own, as machines drift."""

    def __init__(self, true_ms, seed, noise=NOISE):
        self.true_ms, self.noise, self.heats = np.asarray(true_ms, dtype=float), noise, []
        self.rng, self.failing = np.random.default_rng(seed), set()

    @property
    def searched(self):
        """The ratios that a search would have measured: the reference is compiled anew, too."""
        return self.true_ms * np.exp(self.rng.normal(0, np.sqrt(2) * self.noise, len(self.true_ms)))

    def measure(self, which, number):
        assert number == len(self.heats)
        self.heats.append(which)
        found = self.true_ms[which] * np.exp(self.rng.normal(0, self.noise, len(which)) + self.rng.normal(0, 0.2))
        return np.where([int(i) in self.failing for i in which], np.inf, found)

    def run(self, field, size=3, budget=24):
        """Return the standing at the end."""
        return list(race(field, self.measure, size, budget))[-1]


def excess(true_ms, chosen):
    return true_ms[chosen] / true_ms.min() - 1


def test_a_clear_winner_takes_one_heat():
    track = Track([0.5, 0.8, 0.9, 1.0], 0)
    end = track.run(Field(track.searched))
    assert end.order[0] == 0
    assert end.sure > 0.99
    assert len(track.heats) == 1


def test_placements_that_cannot_be_told_apart_take_all_measurements_and_no_more():
    track = Track(np.ones(6), 1)
    end = track.run(Field(track.searched), budget=11)
    assert sum(map(len, track.heats)) == 11
    assert end.sure < 0.95


def test_placements_that_are_all_slower_than_the_baseline_take_one_heat():
    slower, level = Track(np.full(6, 1.2), 1), Track(np.full(6, 1.2), 1)
    assert slower.run(Field(slower.searched, to_beat=1.0)).hope < 0.05
    assert level.run(Field(level.searched, to_beat=1.2)).hope > 0.05
    assert (len(slower.heats), len(level.heats)) == (1, 8)


@pytest.mark.parametrize(("size", "budget"), [(1, 24), (3, 0), (3, 1)])
def test_without_measurements_the_search_decides(size, budget):
    track = Track([1.0, 0.5], 2)
    assert track.run(Field(track.searched), size, budget).order[0] == 1
    assert not track.heats


def test_what_fails_is_out():
    for failing, order in (({0}, [1, 2]), ({0, 1, 2}, [])):
        track = Track([0.5, 0.8, 0.9], 3)
        track.failing = failing
        assert track.run(Field(track.searched)).order.tolist() == order


def test_the_same_measurements_give_the_same_heats():
    ratios = Track(np.linspace(1, 1.05, 8), 4).searched
    first, second = Track(np.linspace(1, 1.05, 8), 5), Track(np.linspace(1, 1.05, 8), 5)
    ends = [track.run(Field(ratios, seed=3)) for track in (first, second)]
    assert [heat.tolist() for heat in first.heats] == [heat.tolist() for heat in second.heats]
    assert ends[0].order.tolist() == ends[1].order.tolist()


def test_it_finds_what_the_least_of_many_noisy_ratios_does_not():
    true_ms = np.concatenate([[1.0], np.full(20, 1.05)])
    found, least = [], []
    for seed in range(10):
        track = Track(true_ms, seed)
        ratios = track.searched
        least.append(excess(true_ms, ratios.argmin()))
        found.append(excess(true_ms, track.run(Field(ratios)).order[0]))
    assert np.mean(np.array(least) <= 0.01) <= 0.6
    assert np.mean(np.array(found) <= 0.01) >= 0.9


@pytest.mark.parametrize("profile", [lambda table, _: table, profiled])
def test_a_cost_model_right_or_poor_tells_luck_from_speed(profile):
    found, least = [], []
    for seed in range(3):
        table = true_table(24, seed=seed)
        device_of = placements(table, 60, seed)
        true_ms, searched = latency_ms(table, device_of), measured_ms(table, device_of, np.sqrt(2) * 0.04, seed)
        track = Track(true_ms, seed, 0.04)
        end = track.run(Field(searched, profile(table, seed), device_of, seed))
        found.append(excess(true_ms, end.order[0]))
        least.append(excess(true_ms, searched.argmin()))
    assert np.mean(found) <= min(0.01, np.mean(least))


def test_what_no_model_expects_is_believed_once_it_is_large():
    table = true_table(24)
    device_of = placements(table, 60, seed=1)
    true_ms = latency_ms(table, device_of)
    true_ms[17] = 0.7 * true_ms.min()  # the runtime does something clever here
    track = Track(true_ms, 7)
    assert track.run(Field(track.searched, table, device_of)).order[0] == 17


@pytest.mark.parametrize(("groups", "wrong_ms"), [(0, np.inf), (slice(None), 0.0)])
def test_costs_under_which_nothing_could_take_the_time_it_took_are_not_used(groups, wrong_ms):
    table = true_table(12)
    device_of = placements(table, 20, seed=2)
    group_ms = table.group_ms.copy()
    group_ms[groups, device_of[0, 0]] = wrong_ms
    ratios = np.linspace(1, 2, 20)
    with_costs = Expectation(ratios, replace(table, group_ms=group_ms), device_of).belief(NOISE)
    np.testing.assert_allclose(with_costs.mean, Expectation(ratios).belief(NOISE).mean)


def test_noise_is_learnt_from_repeats():
    rng = np.random.default_rng(0)
    heats = [Heat(np.arange(3), np.exp(rng.normal(0, 0.1, 3) + rng.normal(0, 0.5))) for _ in range(40)]
    assert noise_of([], 3) == pytest.approx(0.03)
    assert noise_of(heats, 3) == pytest.approx(0.1, rel=0.2)


def test_noise_is_what_repeats_differ_by_beside_what_is_usual():
    """Two heats of two placements leave one degree of freedom: how much their differences differ."""
    heats = [
        Heat(np.array([0, 1]), np.array([10.0, 10.0])),
        Heat(np.array([1, 0]), np.array([20.0, 20.0 * np.exp(0.2)])),
    ]
    assert noise_of(heats, 2) == pytest.approx(np.sqrt((4 * 0.03**2 + 0.2**2 / 4) / (4 + 1)))
    failed = Heat(np.array([0, 1]), np.array([np.inf, 10.0]))
    assert noise_of([*heats, failed], 2) == pytest.approx(noise_of(heats, 2))


@pytest.mark.parametrize("level", [1.0, 3.0])
def test_a_heat_sharpens_what_the_search_saw_by_its_differences_alone(level):
    """Both differences are weighted by their precision; a factor on a heat, as of a slow minute, changes nothing."""
    ratios, difference = np.array([1.0, 1.02, 1.5]), np.array([-1.0, 1.0, 0.0])
    heat = Heat(np.array([0, 1]), level * np.array([1.0, 0.97]))
    noise = noise_of([heat], 3)
    prior, found = Expectation(ratios).belief(np.sqrt(2) * noise), Field(ratios).belief([heat])
    weights = 1 / np.array([difference @ prior.covariance @ difference, 2 * noise**2])
    both = np.array([difference @ prior.mean, np.log(0.97)])
    assert difference @ found.mean == pytest.approx(weights @ both / weights.sum(), rel=1e-3)
    assert difference @ found.covariance @ difference == pytest.approx(1 / weights.sum(), rel=1e-3)
    np.testing.assert_allclose(found.mean[2], prior.mean[2], atol=0.01)


def believing(monkeypatch, mean, spread, to_beat=np.inf, heats=()):
    """Return the standing where this is believed of the logarithms of ratios, each independent of the others."""
    belief = Belief(np.array(mean), np.diag(np.array(spread, dtype=float) ** 2))
    monkeypatch.setattr(Field, "belief", lambda *_: belief)
    return standing(Field(np.ones(len(mean)), to_beat=to_beat), heats)


def test_the_others_follow_by_their_chance_of_being_faster_by_half_a_percent(monkeypatch):
    found = believing(monkeypatch, [0.1, 0.0, 0.01, 0.02], [0.0, 0.02, 0.02, 0.05])
    assert found.order.tolist() == [1, 3, 2, 0]
    assert found.rivals == 2
    drawn = np.random.default_rng(0).normal([0.0, 0.01, 0.02], [0.02, 0.02, 0.05], (100_000, 3))
    assert found.sure == pytest.approx((drawn[:, 0] <= drawn.min(axis=1) + 0.005).mean(), abs=0.04)


def test_those_that_have_no_chance_follow_by_what_is_believed_of_them(monkeypatch):
    assert believing(monkeypatch, [0.5, 0.0, 0.3, 0.4], [1e-3] * 4).order.tolist() == [1, 2, 3, 0]


def test_the_hope_is_to_beat_the_best_baseline(monkeypatch):
    found = believing(monkeypatch, [np.log(0.9), 1.0], [0.1, 0.0], to_beat=0.9)
    assert found.hope == pytest.approx(0.5, abs=0.04)
    assert believing(monkeypatch, [np.log(0.9), 1.0], [0.0, 0.0], to_beat=0.91).hope == 1.0


def test_what_failed_in_a_heat_has_no_chance(monkeypatch):
    heat = Heat(np.array([0, 2]), np.array([np.inf, 10.0]))
    assert believing(monkeypatch, [0.0, 0.1, 0.2], [0.01] * 3, heats=[heat]).order.tolist() == [1, 2]
    none = believing(monkeypatch, [0.0], [0.1], heats=[Heat(np.array([0]), np.array([np.inf]))])
    assert (none.order.tolist(), none.sure, none.rivals, none.hope) == ([], 0.0, 0, 0.0)


@pytest.mark.parametrize(
    ("sure", "hope", "decided"), [(0.95, 1.0, True), (0.94, 1.0, False), (0.5, 0.04, True), (0.5, 1 - 0.95, False)]
)
def test_it_is_decided_when_the_winner_is_sure_or_surely_loses(sure, hope, decided):
    assert Standing(np.arange(2), sure, 1, hope).is_decided == decided


def played(monkeypatch, *standings, size=4, budget=11):
    """Return which placements each heat has where the standings before them are given."""
    rest, heats = iter(standings), []
    monkeypatch.setattr(race_module, "standing", lambda *_: next(rest))

    def measure(which, number):
        assert number == len(heats)
        heats.append(which.tolist())
        return np.ones(len(which))

    assert list(race(Field(np.ones(6)), measure, size, budget)) == list(standings)
    return heats


def undecided(*order, rivals=0):
    return Standing(np.array(order), 0.5, rivals, 1.0)


def test_a_heat_has_the_first_and_its_rivals_and_the_first_heat_as_many_as_may_be(monkeypatch):
    standings = [undecided(0, 1, 2, 3, 4), undecided(3, 2, 1), undecided(4, 3, 2, 1, rivals=2), undecided(0, 1, 2)]
    assert played(monkeypatch, *standings, budget=10) == [[0, 1, 2, 3], [3, 2], [4, 3, 2]]
    standings = [*standings[:3], undecided(5, 4, 3, 2, rivals=3), undecided(0, 1)]
    assert played(monkeypatch, *standings, budget=11) == [[0, 1, 2, 3], [3, 2], [4, 3, 2], [5, 4]]


def test_a_race_that_is_decided_ends_after_its_first_heat(monkeypatch):
    decided = Standing(np.arange(6), 0.99, 3, 1.0)
    assert played(monkeypatch, decided, decided) == [[0, 1, 2, 3]]


def test_a_ratio_beside_a_disturbed_reference_does_not_mislead_the_race():
    """The search saw the third as the best, beside a reference that took half as long again as usual."""
    ratios, heats = np.array([0.50, 0.51, 0.40, 0.52]), [Heat(np.array([2, 0]), np.array([5.3, 5.0]))]
    disturbed = np.array([0.0, 0.0, 0.25, 0.0])
    assert standing(Field(ratios), heats).order[0] == 2
    assert standing(Field(ratios, disturbed=disturbed, usual_ms=10.0), heats).order[0] == 0


def test_a_heat_in_which_everything_took_longer_than_usual_says_little():
    ratios, which = np.array([0.48, 0.50, 0.70]), np.array([0, 1])
    quiet, busy = np.array([5.2, 5.0]), np.array([7.8, 7.5])
    for found_ms, first in ((quiet, 1), (busy, 0)):
        assert standing(Field(ratios, usual_ms=10.0), [Heat(which, found_ms)]).order[0] == first
    assert standing(Field(ratios), [Heat(which, busy)]).order[0] == 1  # nobody knows what is usual


def test_heats_say_what_is_usual_once_there_are_three():
    """A machine that became slower after the search is not disturbed in each heat."""
    ratios, which = np.array([0.48, 0.50, 0.70]), np.array([0, 1])
    heats = [Heat(which, np.array([7.8, 7.5]))] * 3
    assert standing(Field(ratios, usual_ms=10.0), heats).order[0] == 1


def test_disturbed_ratios_do_not_say_how_far_placements_may_be_off():
    ratios = np.array([0.50, 0.505, 0.495, 0.9])
    disturbed = np.array([0.0, 0.0, 0.0, 0.25])
    trusted, doubted = Expectation(ratios), Expectation(ratios, disturbed=disturbed)
    assert doubted.belief(0.02).covariance[0, 0] < trusted.belief(0.02).covariance[0, 0]
