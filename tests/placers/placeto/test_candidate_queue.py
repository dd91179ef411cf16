"""Placements that wait to be measured: the best of them, each once."""

from __future__ import annotations

import json

import numpy as np

from ovplace.placers.placeto import candidate_queue as module
from ovplace.placers.placeto.candidate_queue import CandidateQueue
from ovplace.seeds import generator


def test_the_best_come_first_and_none_comes_twice():
    rng = generator(0, "testing", "pool")
    pool, value, asked = CandidateQueue(), rng.random(81), []
    weights = 3 ** np.arange(4)
    for _ in range(10):
        choices = rng.integers(3, size=(1000, 4))
        pool.add(choices, value[choices @ weights])
        asked += [int(choice @ weights) for choice in pool.take(5)]
    assert len(set(asked)) == len(asked) == 50
    assert sorted(asked[:5]) == sorted(np.argsort(value)[:5].tolist())  # 1,000 draws of 81 placements hold the best


def test_only_the_best_are_kept():
    pool = CandidateQueue()
    choices = np.arange(1000)[:, None]
    for part in np.array_split(generator(0, "testing", "pool").permutation(1000), 7):
        pool.add(choices[part], part.astype(float))
    assert [choice for _, choice in pool.waiting] == [[i] for i in range(module.SIZE)]


def test_it_goes_through_json():
    pool = CandidateQueue()
    pool.add(np.array([[0, 1], [1, 0]]), np.array([2.0, 1.0]))
    taken = pool.take(1)
    other = CandidateQueue.of(json.loads(json.dumps(pool.state())))
    assert taken[0].tolist() == [1, 0]
    assert (other.waiting, other.asked.state()) == (pool.waiting, pool.asked.state())
    other.add(np.array([[1, 0]]), np.array([0.5]))
    assert other.waiting == [(2.0, [0, 1])]
