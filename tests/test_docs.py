"""The documents say what the code does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "benchmarks/results"
RESULTS = sorted(path for path in FOLDER.rglob("*.json") if path.parent.name != "searches")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_files_that_documents_link_to_exist(page):
    links = [part.split(")")[0] for part in (ROOT / page).read_text(encoding="utf-8").split("](")[1:]]
    local = [link for link in links if "://" not in link and not link.startswith("#")]
    assert [link for link in local if not (ROOT / link.split("#")[0]).exists()] == []


def page_of(result):
    """Return the text of the page in whose folder a result lies, or ""."""
    name = f"{result.parent.relative_to(FOLDER)}.md"
    pages = [ROOT / "docs/results" / name, ROOT / "docs" / name]
    return "".join(page.read_text(encoding="utf-8") for page in pages if page.is_file())


def test_results_are_whole_tables_of_known_origin():
    for path in RESULTS:
        data = json.loads(path.read_text(encoding="utf-8"))
        assert set(data) - {"now"} == {"title", "command", "revision", "machine", "columns", "rows", "note"}, path
        assert all(data[key] for key in ("title", "revision", "machine", "rows")), path
        assert {len(row) for row in data["rows"]} == {len(data["columns"])}, path


def test_every_result_is_on_a_page():
    assert [path for path in RESULTS if f"{{results}} {path.stem}\n" not in page_of(path)] == [FOLDER / "demo.json"]


def test_the_picture_is_that_of_the_recorded_run(tmp_path):
    picture = tmp_path / "demo.svg"
    command = [sys.executable, ROOT / "docs/bars.py", FOLDER / "demo.json", picture]
    subprocess.run(command, check=True)
    assert picture.read_text(encoding="utf-8") == (ROOT / "docs/_static/demo.svg").read_text(encoding="utf-8")
