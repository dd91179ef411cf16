"""What a report reads of a run folder."""

import pytest

from ovplace.errors import InterruptedRunError
from ovplace.report.evidence import read_evidence
from ovplace.report.sections.comparison import comparison_section
from ovplace.search.run import run
from ovplace.session.configure import effective
from ovplace.session.deadline import Phase
from ovplace.session.events import silent
from ovplace.testing.models import TINY


@pytest.fixture
def search(tmp_path):
    import openvino as ov

    ov.save_model(TINY["residual"](), tmp_path / "tiny.xml", compress_to_fp16=False)
    given = {"model": str(tmp_path / "tiny.xml"), "machine": "i9-12900k+flex170", "placer": "cut"}

    def search(budget, listener=silent):
        settings = ("measure.min_time_ms=0", "comparison.min_time_ms=0", "comparison.race=0", "comparison.rounds=3")
        return run(effective(None, settings, {**given, "budget": budget}), tmp_path / "run", listener)

    return search


def test_the_samples_are_those_of_the_result_and_not_of_a_comparison_that_was_stopped(search, tmp_path):
    def stop(event):
        if event.phase == Phase.COMPARISON and event.done == 1:
            raise KeyboardInterrupt

    search(4)
    before = comparison_section(read_evidence(tmp_path / "run"))
    assert len(before.rows[0].rounds) == 3
    with pytest.raises(InterruptedRunError):
        search(12, stop)
    assert comparison_section(read_evidence(tmp_path / "run")) == before
