"""Requests go to machines of their class, each is answered once, and what a lost machine had goes to another."""

import pytest

from ovplace.fleet.dispatch import ATTEMPTS, STARTING_S, Dispatcher, Request
from ovplace.fleet.machine import DeviceClass, Machine

ANY = DeviceClass({})


class Fleet:
    """A dispatcher with all that it sends, and a clock that stands still."""

    def __init__(self, *machines, **settings):
        self.sent, self.told, self.now = [], [], 0.0
        self.dispatcher = Dispatcher(
            lambda name, message: self.sent.append((name, message)),
            lambda client, message: self.told.append((client, message)),
            patience_s=10.0,
            clock=lambda: self.now,
            **settings,
        )
        self.dispatcher.enter("search")
        for name in machines:
            self.join(name)

    def join(self, name, **versions):
        self.dispatcher.join(Machine(name, versions=versions))

    def ask(self, number, device_class=ANY, *, at_home=False, client="search", method="measure"):
        body = {"job": {"number": "1"}, "method": method, "deadline_s": 5.0}
        self.dispatcher.submit(Request(client, number, device_class, at_home, body))

    def done(self, name, number, value="fine", client="search"):
        self.dispatcher.done(name, number, client, {"value": value})

    @property
    def given(self):
        return [(name, message["number"]) for name, message in self.sent if message["op"] == "run"]

    @property
    def answers(self):
        return [(m["number"], m["worker"], m.get("value")) for _, m in self.told if m["op"] == "done"]


def test_a_machine_has_one_request_at_a_time_and_others_wait_in_order():
    fleet = Fleet("a", "b")
    for number in range(4):
        fleet.ask(number)
    assert fleet.given == [("a", 0), ("b", 1)]
    fleet.done("b", 1)
    fleet.done("a", 0)
    assert fleet.given[2:] == [("b", 2), ("a", 3)]
    assert fleet.answers == [(1, "b", "fine"), (0, "a", "fine")]


def test_what_a_lost_machine_had_is_measured_elsewhere_and_answered_once():
    fleet = Fleet("a", "b")
    fleet.ask(0)
    fleet.ask(1)
    fleet.dispatcher.leave("a")
    fleet.done("b", 1)
    assert fleet.given == [("a", 0), ("b", 1), ("b", 0)]
    fleet.done("a", 0, "late")  # it is no part of the fleet any more
    fleet.done("b", 0)
    fleet.done("b", 0, "twice")
    assert fleet.answers == [(1, "b", "fine"), (0, "b", "fine")]


def test_an_answer_to_something_else_is_ignored():
    fleet = Fleet("a")
    fleet.ask(0)
    fleet.done("a", 7)
    assert fleet.answers == []
    fleet.done("a", 0)
    assert fleet.answers == [(0, "a", "fine")]


def test_a_request_that_takes_machines_down_is_given_up():
    fleet = Fleet()
    fleet.ask(0)
    for number in range(ATTEMPTS):
        fleet.join(f"m{number}")
        fleet.dispatcher.leave(f"m{number}")
    fleet.join("last")
    assert len(fleet.given) == ATTEMPTS
    (answer,) = [message for _, message in fleet.told if message["op"] == "done"]
    assert "3 machines were lost" in answer["lost"]


def test_a_search_has_a_limited_number_of_requests_and_others_have_their_own():
    fleet = Fleet("a", most_requests=2)
    for number in range(3):
        fleet.ask(number)
    (refused,) = [message for _, message in fleet.told if message["op"] == "refused"]
    assert refused["number"] == 2
    fleet.dispatcher.enter("other")
    fleet.ask(0, client="other")
    fleet.done("a", 0)
    fleet.ask(3)
    for number in (1, 3):
        fleet.done("a", number)
        fleet.dispatcher.done("a", 0, "other", {})
    assert [number for number, *_ in fleet.answers] == [0, 1, 0, 3]


def test_requests_wait_for_a_machine_of_their_class():
    fleet = Fleet("other")
    fleet.ask(0, DeviceClass({"openvino": "2026.4"}))
    assert fleet.given == []
    fleet.join("right", openvino="2026.4")
    assert fleet.given == [("right", 0)]


def test_requests_at_home_stay_on_one_machine_until_it_is_lost():
    fleet = Fleet("a", "b")
    fleet.ask(0, at_home=True)
    fleet.ask(1, at_home=True)
    assert fleet.given == [("a", 0)]
    fleet.done("a", 0)
    assert fleet.given[1:] == [("a", 1)]
    fleet.dispatcher.leave("a")
    assert fleet.given[2:] == [("b", 1)]


def test_a_search_whose_home_trains_gets_another_home():
    fleet = Fleet("a", "b")
    fleet.dispatcher.enter("training")
    fleet.ask(0, at_home=True)
    fleet.done("a", 0)
    fleet.ask(1)
    fleet.ask(2, client="training", method="train")
    fleet.done("b", 1)
    fleet.ask(3, at_home=True)
    assert fleet.given == [("a", 0), ("b", 1), ("a", 2), ("b", 3)]
    fleet.done("a", 2, client="training")
    fleet.ask(4, at_home=True)
    assert len(fleet.given) == 4, "the new home is kept"


def test_searches_are_told_which_machines_train():
    fleet = Fleet("a", "b")
    fleet.ask(0, method="train")
    fleet.dispatcher.enter("late")
    fleet.done("a", 0)
    fleet.ask(1, method="train")
    fleet.dispatcher.leave("b")
    told = {client: [] for client in ("search", "late")}
    for client, message in fleet.told:
        if message["op"] == "training":
            told[client].append(message["names"])
    assert told["late"] == [["a"], [], ["b"], [], ["a"]]
    assert told["search"] == [[], *told["late"]]


@pytest.mark.parametrize("lost", ["leave", "exclude"])
def test_what_waits_for_a_home_that_is_lost_goes_to_an_idle_machine(lost):
    fleet = Fleet("a", "b")
    fleet.dispatcher.enter("other")
    fleet.ask(0, at_home=True)
    fleet.ask(1, client="other")
    fleet.done("a", 0)
    fleet.done("b", 1, client="other")
    fleet.dispatcher.exclude("other", "b")
    fleet.ask(2, client="other")
    fleet.ask(3, at_home=True)
    assert fleet.given == [("a", 0), ("b", 1), ("a", 2)]
    fleet.dispatcher.leave("a") if lost == "leave" else fleet.dispatcher.exclude("search", "a")
    assert fleet.given[3:] == [("b", 3)]


def test_an_excluded_machine_gets_no_more_of_that_search():
    fleet = Fleet("a", "b")
    fleet.dispatcher.exclude("search", "a")
    fleet.ask(0)
    assert fleet.given == [("b", 0)]


def test_machines_end_what_a_search_that_left_had_with_them():
    fleet = Fleet("a", "b")
    fleet.ask(0)
    fleet.dispatcher.drop("search")
    assert fleet.sent[-1] == ("a", {"op": "forget", "job": "1"})
    assert [name for name, message in fleet.sent if message["op"] == "forget"] == ["a"]
    fleet.done("a", 0)
    assert fleet.answers == []


def test_what_a_lost_machine_had_of_a_search_that_left_is_not_run_again():
    fleet = Fleet("a", "b")
    fleet.ask(0)
    fleet.dispatcher.drop("search")
    fleet.dispatcher.leave("a")
    assert fleet.given == [("a", 0)]


@pytest.mark.parametrize("after_s", [9.0, 11.0])
def test_silent_machines_are_given_up(after_s):
    fleet = Fleet("a", "b")
    fleet.now = 5.0
    assert fleet.dispatcher.silent() == []
    fleet.now = after_s
    fleet.dispatcher.heard("b")
    assert fleet.dispatcher.silent() == (["a"] if after_s > 10 else [])


def test_a_scheduler_that_was_stopped_itself_gives_nobody_up_for_that():
    fleet = Fleet("a", "b")
    fleet.now = 60.0
    assert fleet.dispatcher.silent() == []
    fleet.dispatcher.heard("b")
    for fleet.now in (65.0, 69.0):
        assert fleet.dispatcher.silent() == []
    fleet.now = 70.5
    assert fleet.dispatcher.silent() == ["a", "b"]


def test_a_scheduler_that_was_stopped_for_long_has_not_read_the_answers_yet():
    fleet = Fleet("a")
    fleet.ask(0)
    fleet.now = 3 * STARTING_S
    assert fleet.dispatcher.silent() == []
    fleet.done("a", 0)
    assert fleet.answers == [(0, "a", "fine")]


def test_a_machine_that_never_ends_a_request_is_given_up():
    fleet = Fleet("a")
    fleet.ask(0)
    given_up = []
    while not given_up:
        fleet.now += 5.0
        fleet.dispatcher.heard("a")
        given_up = fleet.dispatcher.silent()
    assert (given_up, fleet.now) == (["a"], 5.0 + STARTING_S + 5.0)


def test_an_overview_tells_what_machines_and_searches_do():
    fleet = Fleet("a", "b")
    fleet.dispatcher.name("search", "model.xml with hsdag")
    fleet.dispatcher.exclude("search", "b")
    fleet.ask(0, at_home=True)
    fleet.ask(1)
    fleet.now = 4.0
    fleet.done("a", 0)
    fleet.now = 8.0
    shown = fleet.dispatcher.overview()
    first, second = shown.machines
    assert (first.search, first.operation, first.running_s, first.answered) == ("search", "measure", 4.0, 1)
    assert (first.busy, second.busy, second.search, second.operation) == (1.0, 0.0, "", "")
    (search,) = shown.searches
    assert (search.title, search.home, search.set_aside) == ("model.xml with hsdag", "a", ("b",))
    assert (search.running, search.waiting, search.answered) == (1, 0, 1)
    assert (shown.up_s, shown.busy, shown.waiting) == (8.0, 1, 0)


def test_an_overview_forgets_who_left_and_counts_who_waits():
    fleet = Fleet("a")
    for number in range(3):
        fleet.ask(number, at_home=True)
    assert fleet.dispatcher.overview().waiting == 2
    fleet.dispatcher.leave("a")
    shown = fleet.dispatcher.overview()
    assert (shown.machines, shown.waiting, shown.searches[0].home) == ((), 3, "")
    fleet.dispatcher.drop("search")
    assert fleet.dispatcher.overview().searches == ()
