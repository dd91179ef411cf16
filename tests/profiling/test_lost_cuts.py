"""Cuts whose request was lost, by chance, by a culprit among them, or as the time was up."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from ovplace.config.schema import ProfilingConfig
from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.ir.parts.link_model import save_link_model
from ovplace.profiling.links import PIECES, LinkBench
from ovplace.session.deadline import TimeBudget
from ovplace.testing.sessions import DirectPool, direct
from tests.profiling.profiles import another_run, measurer, obtain


@pytest.fixture
def links_with(tmp_path):
    """Return a function that returns a bench of links whose requests another function may answer."""

    def opened(answer):
        @contextmanager
        def bench(of):
            n, pieces = save_link_model(tmp_path / "links.xml", PIECES)
            real = direct(ops=n)

            def measure(candidates, spec):
                return answer(candidates, spec) or real.measure(candidates, spec)

            yield LinkBench(n, pieces, of.problem.device_names), DirectPool(measure)

        return bench

    return opened


def lost(candidates, error=ErrorKind.CRASH):
    return [Measurement.failed(error, "gone")] * len(candidates)


def test_a_cut_that_is_lost_once_is_measured_again(tmp_path, store, links_with):
    once = [lost]
    found = obtain(measurer(tmp_path, store), links_with(lambda candidates, _: once and once.pop()(candidates)))
    assert found.about["cuts"] == "10 of 10" and not once


def test_a_cut_that_ends_its_process_fails_alone(tmp_path, store, links_with, open_links):
    of, seen = measurer(tmp_path, store), []

    def first_split_crashes(candidates, _):
        seen.extend(candidates)
        culprit = next(candidate for candidate in seen if not candidate.placement.is_uniform)
        return lost(candidates) if culprit.hash in [candidate.hash for candidate in candidates] else None

    assert obtain(of, links_with(first_split_crashes)).about["cuts"] == "9 of 10"
    again = another_run(of, open_links).about
    assert (again["cuts"], again["reused"]) == ("9 of 10", True)


def test_cuts_that_are_lost_with_the_time_are_left_to_the_next_run(tmp_path, store, links_with, open_links):
    of, now = measurer(tmp_path, store), [0.0]
    of.time = TimeBudget(clock=lambda: now[0])
    of.session.config = replace(of.session.config, profiling=ProfilingConfig(budget_s=10.0))

    def too_late(candidates, spec):
        now[0] += spec.deadline_s
        return lost(candidates, ErrorKind.TIMEOUT)

    assert obtain(of, links_with(too_late)).about["cuts"] == "0 of 10"
    assert another_run(of, open_links).about["cuts"] == "10 of 10"
