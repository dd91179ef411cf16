"""A candidate's measurement beside its reference's."""

from __future__ import annotations

import pytest

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, OutputError
from ovplace.core.placement import Placement
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import QUICK, DirectPool, session

RAN = Measurement((1.0, 2.0, 3.0), (3,))


@pytest.fixture
def pair(tmp_path):
    """Return a function that measures a placement and its reference, with given outcomes."""
    store = RunStore(tmp_path / "run.db")

    def measured(*outcomes):
        of = session(tmp_path, DirectPool(lambda candidates, spec: list(outcomes)))
        names = of.problem.device_names
        both = [Candidate(name, Placement.uniform(len(of.graph), name, names)) for name in names[:2]]
        return Measurer(of, store).stored_pair(*both, QUICK)

    yield measured
    store.close()


def test_a_placement_has_the_ratio_to_its_reference(pair):
    stored = pair(RAN, RAN)
    assert (stored.measurement, stored.ratio) == (RAN, 1.0)


def test_a_placement_whose_reference_failed_has_no_result(pair):
    stored = pair(RAN, Measurement.failed(ErrorKind.INFER, "device lost"))
    assert (stored.measurement.error, stored.ratio) == (ErrorKind.INFER, float("inf"))
    assert stored.measurement.error_text == "its reference failed: device lost"


def test_a_placement_that_failed_keeps_its_own_reason(pair):
    failed = Measurement.failed(ErrorKind.COMPILE, "no such operation")
    assert pair(failed, Measurement.failed(ErrorKind.INFER, "device lost")).measurement == failed


def test_a_placement_without_the_outputs_of_its_reference_is_wrong(pair):
    stored = pair(RAN, Measurement((1.0,), (1,), outputs=(OutputError("y", 0.0, 0.0, 1.0),)))
    assert stored.measurement.error == ErrorKind.OUTPUT_MISMATCH
