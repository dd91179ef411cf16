"""The numbers of README and documentation come from result files, so that none contradicts another.

Decimals, percentages and counts such as `7 of 15` are looked for in the prose of README, the tutorial and each page
that shows results, but for those of published systems, whose numbers are of papers. A number must stand in a table
that its page shows: as it is, as a percentage, or as what is left to 100 %. What is no measurement, or is worked out
from several, is in `KNOWN`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MEASURED = [
    ROOT / "README.md",
    *(
        page
        for page in sorted(DOCS.rglob("*.md"))
        if page.name == "tutorial.md"
        or page.parent.name == "results"
        or ("{results}" in page.read_text("utf-8") and page.parent.name != "systems")
    ),
]
RESULTS = ROOT / "benchmarks/results"
DEMO = json.loads((RESULTS / "demo.json").read_text(encoding="utf-8"))
KNOWN = {
    "README.md": {"3.11", "2026.4"},  # of Python and OpenVINO
    "docs/tutorial.md": {"3.11"},
    "docs/guides/install.md": {"3.11", "3.13", "2026.2", "2026.3", "2026.4"},
    "docs/explanation/cost-model.md": {"0.5"},  # of a formula
    "docs/results/hsdag.md": {"13 of 15"},  # counted in searches/hsdag-table-2-searches.json
    "docs/results/index.md": {"82", "13 of 15"},  # of transfer; likewise
    "docs/results/papers.md": {"12.5", "1.9", "3.6", "28.41", "46", "6.1", "60.6", "6 of 15"},  # of papers; likewise
    "docs/results/transfer.md": {"0.14", "0.38", "32", "69", "76", "82"},  # MB of files, shares of a difference
    "docs/results/verdict.md": {"0.3"},  # a standard error
}

_FENCED = re.compile(r"^ *(```|:::).*?^ *\1$", re.S | re.M)
_NO_PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)")
_NUMBER = re.compile(r"(?<![\w.,\[/-])(?:\d+ of \d+|\d[\d,]*\.\d+|\d[\d,]*(?= %))(?![\w]|\.\d)")


def name(page):
    return str(page.relative_to(ROOT))


def sources(page, text):
    """Return what the results say that a page with a text shows."""
    found = [DEMO] if "found by min_cut" in text else []
    for shown in re.findall(r"\{results\} (\S+)", text):
        folder = str(page.relative_to(DOCS).with_suffix("")).removeprefix("results/")
        path = RESULTS / folder / f"{shown}.json"
        found.append(json.loads(path.read_text(encoding="utf-8")))
    return " ".join(json.dumps(data, ensure_ascii=False) for data in found)


def stands_in(number, source):
    """Return whether a number stands in a source, rounded, as a percentage, or as what is missing from 100 %."""
    if " of " in number:
        return re.search(rf"\b{number}\b", source) is not None
    digits = len(number.partition(".")[2])
    written = number.replace(",", "")
    values = [float(found.replace(",", "")) for found in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", source)]
    return any(f"{form:.{digits}f}" == written for v in values for form in (v, 100 * v, 100 - v, 100 * abs(1 - v)))


def unfounded(page, text):
    source = sources(page, text)
    prose = _NO_PROSE.sub("", _FENCED.sub("", text))
    return {number for number in _NUMBER.findall(prose) if not stands_in(number, source)}


@pytest.mark.parametrize("page", MEASURED, ids=name)
def test_numbers_in_prose_stand_in_the_results(page):
    assert unfounded(page, page.read_text(encoding="utf-8")) - KNOWN.get(name(page), set()) == set()


def test_how_often_the_log_reward_of_hsdag_ends_with_the_gpu_alone():
    raw = json.loads((RESULTS / "searches/hsdag-table-2-searches.json").read_text(encoding="utf-8"))
    searches = [dict(zip(raw["columns"], row, strict=True)) for row in raw["rows"]]
    # Without learning, nothing faster than the GPU alone is found. The optimum was not the same at each revision.
    alone = {(s["model"], s["seed"]): s["answer"] for s in searches if s["variant"] == "hsdag untrained"}
    log = [s for s in searches if s["variant"] == "hsdag paper-log"]
    ends = Counter(s["model"].split()[0] for s in log if s["last 20"] == alone[s["model"], s["seed"]])
    assert ends == {"bert-base": 13, "inception-v3": 10, "resnet-50": 6}
    assert sum(s["best asked"] == "1.0000" for s in log if s["model"].startswith("bert-base")) == 6
    said = "13 of 15 searches on BERT, in 10 on Inception-V3 and in 6 on ResNet-50"
    for page in ("results/hsdag.md", "results/index.md", "explanation/systems/hsdag.md"):
        assert said in (DOCS / page).read_text(encoding="utf-8")


def test_a_number_that_no_result_has_is_seen():
    page = DOCS / "results/verdict.md"
    text = page.read_text(encoding="utf-8")
    assert unfounded(page, text + "\n7.77 in 123 of 456.") - unfounded(page, text) == {"7.77", "123 of 456"}


def demo_lines(page):
    """Yield the lines of recorded tables of the demo model that a page shows."""
    for block in re.findall(r"^```text\n(placement .*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
        if "simulated" not in block:
            yield from (line for line in block.split("\n\n")[0].splitlines()[2:] if line != "...")


def test_every_table_of_the_demo_is_that_of_its_result():
    recorded = {tuple(cell for cell in row if cell) for row in DEMO["rows"]}
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    shown = [tuple(re.split(r"\s{2,}", line.strip())) for page in pages for line in demo_lines(page)]
    assert len(shown) > 2 * len(recorded)
    assert set(shown) <= recorded


def test_the_verdict_of_the_demo_is_that_of_its_result():
    said = re.search(r"ratio (\S+ \[\S+, \S+\])", DEMO["note"])[1]
    for page in (ROOT / "README.md", DOCS / "tutorial.md"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"than CPU: ratio (\S+ \[\S+, \S+\])", text) == [said], page
