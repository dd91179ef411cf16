"""Trainings on this machine are stopped together."""

from pathlib import Path
from threading import Barrier, Event, Thread
from types import SimpleNamespace

from ovplace.train import training_sites
from ovplace.train.training_sites import TrainsHere


def test_all_trainings_are_interrupted_before_one_is_waited_for(monkeypatch):
    said, started, over = [], Barrier(3), Event()

    class Process:
        def __init__(self, text, output):
            self.text = text

        def run(self):
            started.wait()
            over.wait()

        def interrupt(self):
            said.append("interrupted")

        def end(self):
            said.append("waited for")

    monkeypatch.setattr(training_sites, "TrainingProcess", Process)
    site = TrainsHere(2)
    threads = [Thread(target=site.train, args=(SimpleNamespace(text=""), Path())) for _ in range(2)]
    for thread in threads:
        thread.start()
    started.wait()
    site.stop()
    over.set()
    for thread in threads:
        thread.join()
    assert said == ["interrupted"] * 2 + ["waited for"] * 2
