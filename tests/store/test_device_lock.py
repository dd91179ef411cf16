"""Who may measure on this machine."""

import pytest

from ovplace.errors import InUseError, StoreError
from ovplace.store.cache import VARIABLE
from ovplace.store.device_lock import for_search, for_worker


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.usefixtures("impatient")
def test_searches_share_the_devices_and_keep_workers_away(cache):
    with for_search(), for_search(), pytest.raises(InUseError, match="has to end first"), for_worker():
        pass
    with for_worker():
        pass


def test_a_worker_keeps_searches_and_other_workers_away(cache):
    with for_worker():
        with pytest.raises(InUseError, match="; search with --cluster, or stop the worker"), for_search():
            pass
        with pytest.raises(InUseError, match="; one worker is enough"), for_worker():
            pass


def test_where_no_cache_can_be_written_a_search_goes_on_and_a_worker_says_how_to_choose_another(cache):
    cache.write_text("no folder")
    with for_search():
        pass
    with (
        pytest.raises(StoreError, match=r"worker\.lock': .*; set OVPLACE_CACHE to a folder that can be written"),
        for_worker(),
    ):
        pass
