"""A machine is set aside by its reference: when it is slower than the others, or than it was."""

import pytest

from ovplace.search.machine_watch import DRIFT, ENOUGH, SLOW, MachineWatch


def watched(**latencies_ms):
    watch = MachineWatch("CPU")
    for turn in zip(*latencies_ms.values(), strict=True):
        for name, latency_ms in zip(latencies_ms, turn, strict=True):
            watch.observe(name, latency_ms, len(latencies_ms))
    return watch.aside


def test_like_machines_stay():
    assert watched(a=[1.0, 1.1, 0.9, 1.0] * 3, b=[1.2] * 12, c=[float("inf")] * 12) == {}


@pytest.mark.parametrize("count", [ENOUGH - 1, ENOUGH + 1])
def test_a_slow_machine_is_set_aside_once_that_is_certain(count):
    aside = watched(a=[1.0] * count, b=[1.0] * count, slow=[SLOW * 1.1] * count)
    assert list(aside) == (["slow"] if count > ENOUGH else [])
    assert all("took 1.65 ms there, 1 ms on the others" in why for why in aside.values())


def test_a_drifting_machine_is_set_aside():
    drifts = [0.8] * ENOUGH + [0.8 * DRIFT * 1.05] * ENOUGH
    aside = watched(a=[1.0] * len(drifts), drifts=drifts)
    assert list(aside) == ["drifts"]
    assert "at first" in aside["drifts"]


def test_one_machine_alone_is_not_judged():
    assert watched(a=[1.0] * ENOUGH + [3.0] * ENOUGH) == {}


def test_the_first_to_be_known_may_be_the_odd_one():
    watch = MachineWatch("CPU")
    for name, latency_ms in {"fast": 0.6, "a": 1.0, "b": 1.0, "c": 1.0}.items():
        for _ in range(ENOUGH):
            watch.observe(name, latency_ms, 4)
    assert watch.aside == {}
