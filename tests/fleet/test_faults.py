"""Searches on a fleet whose parts are killed, come back, hang, are slow or drift: each trial is recorded once."""

import re
import threading
import time
from collections import Counter

import pytest

import ovplace
from ovplace.core.measurement import MACHINE, ErrorKind
from ovplace.search.machine_watch import ENOUGH
from ovplace.store.run_folder import RunFolder
from tests.fleet import box_backend
from tests.fleet.processes import running_fleet

pytestmark = pytest.mark.slow

DEVICES = "CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU{INFERENCE_PRECISION_HINT:f32}"
SETTINGS = (
    "search.backend=box", "backend.delay_s=0.05", "measure.blocks=1", "comparison.rounds=2", "comparison.blocks=3",
    "comparison.race=0",
)  # fmt: skip
BUDGET = 40
MOST = 12
"""Requests that a machine answers before it rests: two of them can neither end the search nor leave it without trials,
however late it is disturbed."""


@pytest.fixture
def start(certificates, tmp_path, monkeypatch):
    """Return what starts a fleet whose machines have the backend `box`."""
    box_backend.install(tmp_path / "site")
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    monkeypatch.syspath_prepend(tmp_path / "site")
    return lambda *workers: running_fleet(tmp_path, certificates, *workers)


def search_here(fleet, *settings, **options):
    """Search in this process."""
    return ovplace.optimize(
        "demo", fleet.folder / "run", device=DEVICES, placer="random", settings=(*SETTINGS, *settings),
        cluster=fleet.address,
        **{"budget": BUDGET, **options},
    )  # fmt: skip


def start_search(fleet, budget=BUDGET):
    """Start the same search in a process of its own."""
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    folder = str(fleet.folder / "run")
    fleet.start_search(
        "demo", "-o", folder, "-d", DEVICES, "--placer", "genetic", "--budget", str(budget), *settings
    )  # fmt: skip
    return fleet.processes["search"]


def trials_of(fleet):
    folder = RunFolder(fleet.folder / "run")
    if not folder.has_begun:
        return []
    store = folder.open_store()
    trials = store.trials()
    store.close()
    return trials


def machines_of(fleet):
    """Return how many trials each machine has measured."""
    return Counter(trial.measurement.facts[MACHINE] for trial in trials_of(fleet))


def wait_until(happened):
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


def rest(fleet, *names, after=MOST):
    """Let machines rest after some requests, in processes that they start from now on."""
    for name in names:
        box_backend.write(fleet.folder / name, box_backend.REST, str(after))


def all_rest(fleet, *names):
    return all((fleet.folder / name / box_backend.RESTS).exists() for name in names)


def go_on(fleet, *names):
    for name in names:
        (fleet.folder / name / box_backend.REST).unlink()


def check_recorded_once(fleet, budget=BUDGET):
    trials = trials_of(fleet)
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert sum(not trial.cached for trial in trials) == budget
    assert len({trial.placement.hash for trial in trials}) == budget, "these placers ask for nothing twice"


def test_a_killed_search_goes_on_but_not_on_other_hardware(start):
    with start("a", "b") as fleet:
        rest(fleet, "a", "b")
        start_search(fleet)
        wait_until(lambda: len(trials_of(fleet)) >= 8)
        fleet.kill("search")
        assert len(trials_of(fleet)) < BUDGET
        go_on(fleet, "a", "b")
        search = start_search(fleet)
        _, said = search.communicate(timeout=120)
        assert search.returncode == 0, said
        check_recorded_once(fleet)
        store = RunFolder(fleet.folder / "run").open_store()
        store.put("hardware", "GPU Flex 170")
        store.close()
        search = start_search(fleet, 2 * BUDGET)
        _, said = search.communicate(timeout=120)
        assert search.returncode == 1
        assert "this run began on machines with GPU Flex 170, and there are only others" in said


def test_workers_find_a_scheduler_that_comes_back_and_the_same_command_goes_on(start):
    with start("a", "b") as fleet:
        rest(fleet, "a", "b")
        search = start_search(fleet)
        wait_until(lambda: len(trials_of(fleet)) >= 8)
        fleet.restart_scheduler()
        go_on(fleet, "a", "b")
        _, said = search.communicate(timeout=120)
        assert search.returncode == 1
        assert "the scheduler at" in said
        assert "the same command continues the run" in said
        fleet.wait_for("a", "b")
        search = start_search(fleet)
        _, said = search.communicate(timeout=120)
        assert search.returncode == 0, said
        check_recorded_once(fleet)


def test_the_home_is_lost_in_the_final_comparison(start):
    with start("home") as fleet:
        fleet.start_worker("other")
        fleet.wait_for("other")
        happened = []

        def listener(event):
            if event.phase == "final comparison" and not happened:
                happened.append(event.text)
                fleet.kill("home")

        run = search_here(fleet, listener=listener, budget=12)
        assert happened
        assert [machine.name for machine in fleet.cluster.machines()] == ["other"]
    assert run.verdict.ratio.value > 0
    assert run.search.measured == 12
    check_recorded_once(fleet, 12)


def test_an_inference_that_never_ends_is_a_failed_trial_and_the_worker_lives_on(start):
    with start("a") as fleet:
        box_backend.write(fleet.folder / "hangs", box_backend.MOOD, "hang")
        fleet.start_worker("hangs")
        fleet.wait_for("hangs")
        # Beside the deadline and a new process, the other machine has to leave something to do.
        search_here(fleet, "measure.deadline_s=3", "backend.delay_s=0.1", budget=160)
    check_recorded_once(fleet, 160)
    found = [(t.measurement.facts[MACHINE], t.measurement.error) for t in trials_of(fleet)]
    counts = Counter(found)
    assert counts.pop(("hangs", ErrorKind.TIMEOUT)) == 1
    assert counts.keys() == {("a", None), ("hangs", None)}


def test_slow_and_drifting_machines_are_set_aside_and_the_result_says_so(start):
    names = ("a", "b", "slow", "drifts")

    def begin_together(fleet):
        wait_until(lambda: all_rest(fleet, *names))
        go_on(fleet, *names)

    with start("a", "b") as fleet:
        for name, mood in (("slow", "2"), ("drifts", "0.6")):
            box_backend.write(fleet.folder / name, box_backend.MOOD, mood)
            fleet.start_worker(name)
        fleet.wait_for(*names)
        rest(fleet, *names, after=0)

        def listener(event):
            if event.phase == "search" and machines_of(fleet)["drifts"] >= ENOUGH:
                box_backend.write(fleet.folder / "drifts", box_backend.MOOD, "1.2")

        beginning = threading.Thread(target=begin_together, args=(fleet,))
        beginning.start()
        run = search_here(fleet, budget=80, listener=listener)
        beginning.join()
    check_recorded_once(fleet, 80)
    notes = " ".join(run.verdict.notes)
    assert re.search(r"machine 'slow' was set aside: CPU_A took 20 ms there, \d+ ms on the others", notes)
    assert "machine 'drifts' was set aside: CPU_A took 6 ms there at first, 12 ms later" in notes
    assert {machine.name for machine in run.search.machines if machine.aside} == set(names[2:])
    assert "machine 'slow' was set aside" in (fleet.folder / "run" / "result.json").read_text()
