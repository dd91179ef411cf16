"""The pages of several runs and of a running one, in headless Chromium."""

import threading

import pytest

from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.report.compare import Comparison, row_of
from ovplace.report.live import Server
from ovplace.report.page import comparison_html
from ovplace.testing.reports import evidence

pytestmark = pytest.mark.slow


@pytest.fixture
def page(chromium):
    opened, wrong = chromium.new_page(viewport={"width": 390, "height": 800}), []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    opened.close()
    assert wrong == []


def test_runs_are_drawn_side_by_side(page, tmp_path):
    file = tmp_path / "comparison.html"
    file.write_text(comparison_html(Comparison((row_of(evidence()), row_of(evidence(segments=5))))), encoding="utf-8")
    page.goto(file.as_uri())
    assert page.locator("#ratios svg").count() == 1
    assert page.locator("#progress svg").last.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_running_search_is_followed(page, tmp_path):
    with Server(tmp_path / "run") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(server.address)
        assert "waiting" in page.locator("#state").inner_text()
        server.folder.create()
        server.folder.write_config(RunConfig(search=SearchConfig(model="m.xml", placer="cut")))
        store = server.folder.open_store()
        for trial in evidence().trials:
            store.add_trial(f"key {trial.number}", trial)
        store.close()
        with server.folder.locked():
            page.evaluate("Live.ask()")
        assert page.locator("#state").inner_text() == "running"
        assert page.locator("#summary").inner_text().startswith("6 placements asked for by cut, the best takes 80 %")
        assert page.locator("#trials svg").count() >= 1
        server.shutdown()
