"""What holds for all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# No test asserts a time: the first example also pays for imports, 0.3 s on a slow machine where the rest take 2 ms.
settings.register_profile("ovplace", deadline=None)
settings.load_profile("ovplace")

# The programs that tests interrupt inherit these: a shell starts what runs in its background with Ctrl-C ignored, nohup
# starts it with SIGHUP ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# GNU readline, which pytest imports, sets it for the programs that tests start, and tables would fit into that.
os.unsetenv("COLUMNS")

# What runs leave for later ones stays out of the user's own cache; the processes that tests start inherit it.
os.environ["OVPLACE_CACHE"] = tempfile.mkdtemp(prefix="ovplace-cache-")
atexit.register(shutil.rmtree, os.environ["OVPLACE_CACHE"], ignore_errors=True)


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def chromium():
    """Return a browser; playwright drives it, but brings none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on the path; on Debian: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def reversed_advantages(monkeypatch):
    """Let REINFORCE learn from advantages of the wrong sign."""
    from ovplace.learning.reinforce import ReinforceProgress

    right = ReinforceProgress.advantages

    def wrong(*arguments):
        advantage, counts = right(*arguments)
        return -advantage, counts

    monkeypatch.setattr(ReinforceProgress, "advantages", wrong)


@pytest.fixture
def impatient(monkeypatch):
    """Let nobody wait for the end of a lock that another one holds."""
    monkeypatch.setattr("ovplace.store.lock._PAUSE_S", 0.0)


@pytest.fixture
def homeless(monkeypatch):
    """A user without a home folder, as in a container that runs under any number."""

    def gone(_):
        raise RuntimeError("Could not determine home directory.")

    for name in ("OVPLACE_CACHE", "OVPLACE_CERTS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", gone)
