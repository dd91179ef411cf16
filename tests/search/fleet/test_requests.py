"""Placements that are measured here, one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ovplace.core.measurement import Candidate
from ovplace.core.placement import Placement
from ovplace.search.requests import LocalRequests
from ovplace.search.staging import Staging
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import OPS, QUICK, DirectPool, direct, session

NAMES = ("CPU_0", "CPU_1")
REFERENCE = Candidate("CPU_0", Placement.uniform(OPS, "CPU_0", NAMES))


def split(number):
    return Placement((np.arange(OPS) > number).astype(int), NAMES)


@pytest.fixture
def requested():
    """Return requests, and the names of the candidates of each request so far."""
    asked, store, fake = [], RunStore(Path(":memory:")), direct(split=0.5)

    def measure(candidates, spec):
        asked.append([candidate.name for candidate in candidates])
        return fake.measure(candidates, spec)

    measurer = Measurer(session(Path(), DirectPool(measure)), store)
    yield LocalRequests(measurer, Staging(measurer, REFERENCE, QUICK, wanted=False), REFERENCE, QUICK), asked
    store.close()


def test_they_are_measured_when_they_are_asked_for_in_the_order_of_starting(requested):
    requests, asked = requested
    requests.submit(3, split(3))
    requests.submit(4, split(4))
    assert (requests.capacity, requests.notes, asked) == (1, {}, [])
    answers = [requests.next_answer(), requests.next_answer()]
    assert asked == [["trial 3", "CPU_0"], ["trial 4", "CPU_0"]]
    assert [(one.number, one.cached, one.stored.ratio) for one in answers] == [(3, False, 0.5), (4, False, 0.5)]
    assert answers[0].key != answers[1].key


def test_what_the_store_knows_is_not_measured(requested):
    requests, asked = requested
    requests.submit(0, split(3))
    first = requests.next_answer()
    requests.measurer.store.put_measurement(first.key, "trial 0", first.stored)
    requests.submit(1, split(3))
    again = requests.next_answer()
    assert (again.number, again.key, again.stored, again.cached) == (1, first.key, first.stored, True)
    assert len(asked) == 1


def test_those_that_are_stopped_are_forgotten(requested):
    requests, asked = requested
    requests.submit(0, split(3))
    requests.cancel()
    requests.submit(1, split(4))
    assert requests.next_answer().number == 1
    assert asked == [["trial 1", "CPU_0"]]
