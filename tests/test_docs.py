"""The documents say what the code does."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_command_line_reference_is_what_the_commands_say():
    page = runpy.run_path(str(ROOT / "docs/make_cli_reference.py"))
    assert page["reference"]() == (ROOT / "docs/cli.md").read_text(encoding="utf-8"), (
        "run python docs/make_cli_reference.py"
    )


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_files_that_documents_link_to_exist(page):
    path = next(p for p in (ROOT / page, ROOT / "docs" / page) if p.exists())
    links = [part.split(")")[0] for part in path.read_text(encoding="utf-8").split("](")[1:]]
    missing = [
        link
        for link in links
        if "://" not in link and not link.startswith("#") and not (path.parent / link.split("#")[0]).exists()
    ]
    assert missing == []
