"""The page of an ablation, from what `ovplace ablate` leaves."""

import json

import pytest

from ovplace.errors import ReportWarning, StoreError
from ovplace.report.ablation import FILE, ablation_of, read_ablation
from ovplace.report.page import ablation_html
from ovplace.report.write import write_report

CELL = {
    "model": "decoder",
    "machine": "two-gpus",
    "where": "two-gpus (simulated)",
    "variant": "full",
    "runs": 2,
    "finished": 2,
    "faster": 1,
    "latency_ms": {"value": 1.6, "ci95": [1.5, 1.7]},
    "to_full": None,
    "to_single": {"value": 1.0, "ci95": None},
    "found_to_single": {"value": 0.9, "ci95": [0.8, 1.0]},
    "measured": 10.0,
}
CELL_OF_RUN = {"variant": "full", "model": "decoder", "machine": "two-gpus"}
DATA = {
    "schema": 1,
    "name": "mine",
    "folder": "runs/mine",
    "variants": {"full": {}, "<i>random</i>": {"search": {"placer": "random"}}},
    "cells": [CELL, {**CELL, "variant": "<i>random</i>"}, {**CELL, "model": "lstm"}],
    "runs": [
        {"status": "failed", "folder": "full/lstm", "error": "no <b>device</b>"},
        {"status": "finished", "seed": 7, "folder": "runs/mine/full/100%/7", **CELL_OF_RUN},
    ],
}


def test_each_model_and_machine_has_its_variants():
    found = ablation_of(DATA)
    assert [place.title for place in found.places] == [
        "decoder on two-gpus (simulated)",
        "lstm on two-gpus (simulated)",
    ]
    assert [row.name for row in found.places[0].variants] == ["full", "<i>random</i>"]
    assert found.places[0].variants[0].to_single == (1.0, 1.0, 1.0)
    assert found.settings == (("full", ""), ("<i>random</i>", "search.placer = random"))
    assert found.failures == (("full/lstm", "no <b>device</b>"),)


def test_a_variant_without_a_finished_run_stays_with_the_others():
    real = {**CELL, "machine": "here", "where": "here: GPU, CPU"}
    cells = [{**real, "variant": "full", "where": "here"}, {**real, "variant": "a"}, {**real, "variant": "b"}]
    (place,) = ablation_of({**DATA, "cells": cells}).places
    assert place.title == "decoder on here: GPU, CPU"
    assert [row.name for row in place.variants] == ["full", "a", "b"]


@pytest.mark.parametrize(("measured", "text"), [(59.666, "59.67"), (2000.0, "2000"), (12345.6, "12346"), (None, "-")])
def test_how_many_were_measured_is_a_number_of_whole_digits(measured, text):
    page = ablation_html(ablation_of({**DATA, "cells": [{**CELL, "measured": measured}]}))
    assert f'<td class="n">1</td><td class="n">{text}</td>' in page


def test_its_names_are_text():
    page = ablation_html(ablation_of(DATA))
    assert "&lt;i&gt;random&lt;/i&gt;" in page
    assert "<i>random</i>" not in page
    assert "<b>device</b>" not in page


def test_it_links_the_pages_of_its_runs(tmp_path):
    page = ablation_html(ablation_of(DATA), "../runs/my mine")
    assert page.count("/report.html") == 1
    assert '<a href="../runs/my%20mine/full/100%25/7/report.html">7</a>' in page


def test_its_folder_gets_the_page_and_a_run_without_one_is_told(tmp_path):
    (tmp_path / FILE).write_text(json.dumps(DATA), encoding="utf-8")
    with pytest.warns(ReportWarning, match=r"its report is not written: .*'ovplace report .*/full/100%/7' tries again"):
        page = write_report(tmp_path)
    assert "Ablation mine" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("data", "words"), [({}, "'schema'"), ({**DATA, "schema": 2}, "schema 2"), ({**DATA, "variants": []}, "'items'")]
)
def test_a_damaged_file_and_one_of_another_version_are_refused(data, words, tmp_path):
    (tmp_path / FILE).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(StoreError, match=f"{words}.*; run the 'ovplace ablate' command again"):
        read_ablation(tmp_path)
