"""`ovplace report`, and the report that each run leaves."""

import shutil

import pytest

import ovplace
from ovplace.api import searching
from ovplace.report.write import try_report
from ovplace.testing.results import run_result


def test_a_run_leaves_its_report(finished):
    folder, done = finished
    assert f"See it:     {folder / 'report.html'} in a browser" in done.out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<title>tiny" in page
    assert "Everything stays on" in page or "one inference takes" in page


def test_the_report_is_written_where_it_is_wanted(ovplace, finished, tmp_path):
    target = tmp_path / "new" / "page.html"
    done = ovplace("report", finished[0], "-o", target)
    assert (done.code, done.out.strip()) == (0, str(target))
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_report_of_nothing_is_refused_in_one_line(ovplace, tmp_path):
    done = ovplace("report", tmp_path / "nowhere")
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert "no run folder" in done.err


@pytest.mark.parametrize("damage", [lambda page: b"", lambda page: page[: len(page) // 2], lambda page: b"\xff" * 99])
def test_a_report_that_is_cut_off_is_written_anew(finished, tmp_path, damage):
    folder = tmp_path / "run"
    shutil.copytree(finished[0], folder)
    page = folder / "report.html"
    good = page.read_bytes()
    page.write_bytes(damage(good))
    assert try_report(folder) == ""
    assert len(page.read_bytes()) == pytest.approx(len(good), rel=0.01)
    written = page.stat().st_mtime_ns
    assert try_report(folder) == ""
    assert page.stat().st_mtime_ns == written


def test_a_run_is_not_lost_with_its_report(monkeypatch, tmp_path):
    monkeypatch.setattr(searching, "run", lambda *_: run_result())
    with pytest.warns(RuntimeWarning, match=r"its report is not written.*ovplace report") as warned:
        assert ovplace.optimize("demo", tmp_path / "run").is_faster
    assert warned[0].filename == __file__  # and not a file of ovplace


def test_runs_are_compared_on_one_page(ovplace, finished, tmp_path):
    target = tmp_path / "both.html"
    done = ovplace("report", finished[0], finished[0], "-o", target)
    assert (done.code, done.out.strip()) == (0, str(target))
    assert "2 runs side by side" in target.read_text(encoding="utf-8")


def test_one_run_is_followed_at_a_time(ovplace, finished):
    done = ovplace("report", finished[0], finished[0], "--live")
    assert (done.code, done.out) == (2, "")
    assert "--live follows one RUN" in done.err


def test_a_port_without_a_server_is_refused(ovplace, finished):
    done = ovplace("report", finished[0], "--port", "0")
    assert (done.code, done.out) == (2, "")
    assert "--port needs --live; add it, or leave --port out" in done.err


def test_no_report_overwrites_a_run(ovplace, finished):
    folder, _ = finished
    before = (folder / "result.json").read_bytes()
    for runs in ([folder], [folder, folder]):
        done = ovplace("report", *runs, "-o", folder / "result.json")
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
        assert "belongs to a run" in done.err
    assert (folder / "result.json").read_bytes() == before
    (begun := folder / f"report.html.{10**30}.tmp").touch()  # as of a report that was killed
    assert ovplace("report", folder, "-o", folder / "report.html").code == 0
    assert not begun.exists()


def test_no_report_overwrites_the_model_of_a_run(ovplace, finished, tiny):
    folder, _ = finished
    for runs, model in (([folder], tiny), ([folder, folder], tiny.with_suffix(".bin"))):
        before = model.read_bytes()
        done = ovplace("report", *runs, "-o", model)
        assert (done.code, done.out, model.read_bytes()) == (2, "", before)
        assert f"'{model}' is the model of the run, which would be lost" in done.err
