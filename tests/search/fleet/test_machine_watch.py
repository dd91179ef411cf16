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


def test_it_says_once_that_a_machine_has_to_be_set_aside():
    watch = MachineWatch("CPU")
    turns = [[watch.observe(name, ms, 3) for name, ms in (("a", 2.0), ("b", 2.0), ("slow", 4.0))] for _ in range(6)]
    assert turns == [[False] * 3] * 3 + [[False, False, True]] + [[False] * 3] * 2
    assert watch.aside == {"slow": "CPU took 4 ms there, 2 ms on the others"}


def test_machines_that_are_half_as_slow_again_stay():
    assert watched(a=[2.0] * 4, b=[2.0] * 4, c=[3.0] * 4) == {}
    assert list(watched(a=[2.0] * 4, b=[2.0] * 4, c=[3.01] * 4)) == ["c"]
    assert watched(a=[2.0] * 4 + [3.0] * 4, b=[2.0] * 8) == {}
    drifts = watched(a=[2.0] * 4 + [3.01] * 4, b=[3.0] * 8)
    assert drifts == {"a": "CPU took 2 ms there at first, 3.01 ms later"}


def test_a_machine_that_was_set_aside_is_no_measure_for_others():
    watch = MachineWatch("CPU")
    for name, latency_ms in (("a", 1.0), ("b", 1.0), ("slow", 4.0), ("b", 2.0)):
        for _ in range(4):
            watch.observe(name, latency_ms, 2)
    assert watch.aside["b"] == "CPU took 2 ms there, 1 ms on the others"


def test_nor_is_one_that_was_set_aside_for_another_reason():
    watch = MachineWatch("CPU")
    for name, latency_ms in (("broken", 1.0), ("a", 3.2)):
        for _ in range(ENOUGH):
            watch.observe(name, latency_ms, 3)
    watch.set_aside("broken", "its disk is full")
    assert not any(watch.observe("b", 3.2, 2) for _ in range(ENOUGH))
    assert watch.aside == {"broken": "its disk is full"}


def test_latencies_that_are_not_known_do_not_count():
    watch = MachineWatch("CPU")
    assert [watch.observe("a", ms, 1) for ms in (1.0, float("inf"), 1.0, float("inf"))] == [False] * 4
    assert watched(a=[1.0] * 4, b=[float("inf")] * 4) == {}


def test_one_machine_alone_is_not_judged():
    assert watched(a=[1.0] * ENOUGH + [3.0] * ENOUGH) == {}


@pytest.mark.parametrize("others", ["ab", "abc"])
def test_the_first_to_be_known_may_be_the_odd_one(others):
    watch = MachineWatch("CPU")
    for name, latency_ms in {"fast": 0.6, **dict.fromkeys(others, 1.0)}.items():
        for _ in range(ENOUGH):
            watch.observe(name, latency_ms, 1 + len(others))
    assert watch.aside == {}


def test_a_machine_is_judged_once_half_of_the_others_are_known():
    watch = MachineWatch("CPU")
    found = [[watch.observe(name, ms, 4) for _ in range(4)][-1] for name, ms in (("a", 1.0), ("b", 1.0), ("c", 9.0))]
    assert found == [False, False, True]
