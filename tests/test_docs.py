"""The documents say what the code does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = sorted((ROOT / "benchmarks/results").glob("*.json"))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_files_that_documents_link_to_exist(page):
    links = [part.split(")")[0] for part in (ROOT / page).read_text(encoding="utf-8").split("](")[1:]]
    local = [link for link in links if "://" not in link and not link.startswith("#")]
    assert [link for link in local if not (ROOT / link.split("#")[0]).exists()] == []


def test_results_are_whole_tables_of_known_origin():
    for path in RESULTS:
        data = json.loads(path.read_text(encoding="utf-8"))
        assert set(data) - {"now"} == {"title", "command", "revision", "machine", "columns", "rows", "note"}, path
        assert all(data[key] for key in ("title", "revision", "machine", "rows")), path
        assert {len(row) for row in data["rows"]} == {len(data["columns"])}, path


def test_every_result_is_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert [path.stem for path in RESULTS if f"{{results}} {path.stem}\n" not in pages] == ["demo"]


def test_the_picture_is_that_of_the_recorded_run(tmp_path):
    picture = tmp_path / "demo.svg"
    command = [sys.executable, ROOT / "docs/bars.py", ROOT / "benchmarks/results/demo.json", picture]
    subprocess.run(command, check=True)
    assert picture.read_text(encoding="utf-8") == (ROOT / "docs/_static/demo.svg").read_text(encoding="utf-8")
