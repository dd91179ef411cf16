"""The OpenVINO backend: candidates take turns, and each is timed as often as its latency asks for."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import openvino as ov
import pytest

from ovplace.backends.openvino import Backend
from ovplace.backends.openvino.timer import Ready, Timer
from ovplace.core.measurement import ErrorKind, Job, MeasureSpec
from ovplace.ir.read import read_graph
from ovplace.testing import models
from tests.backends.two_cpus import NAMES, PAIR, SPEC, chain, halves, whole


def test_short_inferences_get_more_samples_and_hopeless_candidates_one(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    fast, slow = whole(graph), whole(graph, "CPU_B")
    spec = MeasureSpec(warmup=1, blocks=2, repeats=2, min_time_ms=5.0, hopeless_ratio=2.5)
    real = Timer._warm_up
    monkeypatch.setattr(
        Timer, "_warm_up", lambda self, r, s: real(self, r, s) * (1e6 if r.submodels == ("CPU_B",) else 1)
    )
    measured = backend.measure([fast, slow, replace(slow, reference=True)], spec)
    assert min(measured[0].blocks) > 2
    assert [m.blocks for m in measured[1:]] == [(1,), (1, 1)]  # each block has one of a reference


def test_candidates_take_turns_and_settle_before_they_are_timed(saved, monkeypatch):
    path, timed = saved(chain()), []
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    candidates = [whole(graph), whole(graph, "CPU_B"), halves(graph)]

    def note(self, ready):
        timed.append(ready.submodels)
        real(self, ready)
        return 2.0

    real = Timer.timed  # without it, outputs would be what their memory held before
    monkeypatch.setattr(Timer, "timed", note)
    monkeypatch.setattr(Timer, "_warm_up", lambda *_: 2.0)
    measured = backend.measure(candidates, replace(SPEC, blocks=3, repeats=3, min_time_ms=7.0))
    assert [(m.blocks, m.error_text) for m in measured] == [((4, 4, 4), "")] * 3
    # Two inferences settle for 3.5 ms, four are samples.
    a, b, split = ([submodels] * 6 for submodels in (("CPU_A",), ("CPU_B",), NAMES))
    assert timed[-54:] == [*a, *b, *split, *b, *split, *a, *split, *a, *b]


def test_the_shortest_inferences_get_a_limited_number_of_samples(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real = Timer.timed
    monkeypatch.setattr(Timer, "timed", lambda self, ready: min(1e-4, real(self, ready)))
    (measured,) = backend.measure([whole(graph)], replace(SPEC, min_time_ms=5.0))
    assert all(499 <= count <= 501 for count in measured.blocks)


def test_one_slow_warm_up_does_not_make_a_candidate_slow(saved, monkeypatch):
    backend, paces = Backend(Job(saved(chain()), PAIR)), iter([3.0, 1.0, 9.0])
    monkeypatch.setattr(Timer, "timed", lambda self, ready: next(paces))
    ready = Ready(None, pace_ms=50.0)
    assert backend._timer._warm_up(ready, replace(SPEC, warmup=3)) == 1.0


def test_one_slow_warm_up_of_a_search_does_not_make_a_candidate_slow_on_the_emulated_gpu(saved, monkeypatch):
    """Its first inference is slow, so the pace is that of the second one, after which its weights are copied."""
    backend, paces = Backend(Job(saved(chain()), PAIR)), iter([50.0, 1.0, 9.0])
    backend._job = replace(backend._job, devices=(PAIR[0], replace(PAIR[1], emulated=True)))
    monkeypatch.setattr(Timer, "timed", lambda self, ready: next(paces))
    ready = backend._settled(None, 0.0, ())
    assert (ready.first_ms, backend._timer._warm_up(ready, MeasureSpec().of_trial())) == (50.0, 1.0)


@pytest.mark.parametrize(("first_ms", "warm_up"), [(1.5, 0), (50.0, 1)])
def test_without_a_warm_up_what_seems_hopeless_gets_one(saved, monkeypatch, first_ms, warm_up):
    """The first inference of a device other than the emulated GPU is the only one before the first block."""
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    ran, real = [], Timer.timed

    def timed(self, ready):
        ran.append(ready.submodels)
        real(self, ready)
        return first_ms if ran.count(ready.submodels) == 1 and ready.submodels == ("CPU_B",) else 1.0

    monkeypatch.setattr(Timer, "timed", timed)
    spec = replace(SPEC, warmup=0, blocks=2, repeats=3, hopeless_ratio=2.5)
    measured = backend.measure([whole(graph), whole(graph, "CPU_B")], spec)
    assert [m.blocks for m in measured] == [(3, 3)] * 2
    assert [ran.count((name,)) for name in NAMES] == [1 + warm_up + 2 * (1 + 3)] * 2


@pytest.mark.parametrize(("model", "untimed"), [(chain, 1), (models.kv_cache, 2)])
def test_only_a_state_needs_an_inference_after_settling(saved, monkeypatch, model, untimed):
    backend, latencies_ms = Backend(Job(saved(model()), PAIR)), iter(range(40, 99))
    monkeypatch.setattr(Timer, "start_state", lambda *_: None)
    monkeypatch.setattr(Timer, "timed", lambda self, ready: float(next(latencies_ms)))
    samples = backend._timer._block(Ready(), replace(SPEC, min_time_ms=10.0))
    assert samples == [40.0 + untimed + i for i in range(SPEC.repeats)]


def test_a_growing_state_starts_anew_after_as_many_samples_for_every_candidate(saved, monkeypatch):
    """A faster one has more samples in a block, and the inferences of a longer cache take longer."""
    backend, lengths = Backend(Job(saved(models.kv_cache()), PAIR)), [0]
    monkeypatch.setattr(Timer, "start_state", lambda *_: lengths.append(0))

    def grown(self, ready):
        lengths[-1] += 1
        return float(lengths[-1])

    monkeypatch.setattr(Timer, "timed", grown)
    samples = backend._timer._block(Ready(), replace(SPEC, repeats=3, min_time_ms=20.0))
    assert samples == [2.0, 3.0, 4.0] * 2 + [2.0]


def test_candidates_take_turns_there_and_back(saved, monkeypatch):
    """Neither comes first more often, so a machine that becomes slower favours none."""
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    ran, infer = [], ov.InferRequest.infer

    def noting(request, *arguments, **options):
        ran.append(id(request))
        return infer(request, *arguments, **options)

    monkeypatch.setattr(ov.InferRequest, "infer", noting)
    backend.measure([whole(graph), halves(graph)], replace(SPEC, warmup=0, blocks=3))
    first, second = dict.fromkeys(ran)
    in_blocks = ran[-3 * 2 * (1 + SPEC.repeats) :]
    assert [one for one, _ in groupby(in_blocks)] == [first, second, first, second]
    assert in_blocks.count(first) == in_blocks.count(second)


def test_an_error_in_the_middle_of_the_blocks_is_the_candidates_own(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real, begun = Timer._block, []

    def block(self, ready, *arguments):
        begun.append(ready.submodels)
        if ready.submodels == ("CPU_B",) and begun.count(("CPU_B",)) == 2:
            raise RuntimeError("device\nlost, out of memory")
        return real(self, ready, *arguments)

    monkeypatch.setattr(Timer, "_block", block)
    lost, other = backend.measure([whole(graph, "CPU_B"), whole(graph)], SPEC)
    assert (lost.error, lost.error_text) == (ErrorKind.MEMORY, "device lost, out of memory")
    assert (other.error, other.blocks) == (None, (2, 2))


def test_a_candidate_that_fails_while_warming_up_does_not_make_the_others_hopeless(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real = Timer.timed

    def failing(self, ready):
        if ready.submodels == ("CPU_B",) and ready.first_ms:
            raise RuntimeError("device lost")
        return real(self, ready)

    monkeypatch.setattr(Timer, "timed", failing)
    good, bad = backend.measure([whole(graph), whole(graph, "CPU_B")], SPEC)
    assert good.blocks == (2, 2)
    assert bad.error == "infer"
