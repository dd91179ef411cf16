"""Who measures on the devices of this machine: one worker of a fleet, or any number of searches, but not both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from ovplace.errors import InUseError, StoreError
from ovplace.store.cache import cache_folder
from ovplace.store.lock import locked, shared

_NAME = "worker.lock"


def for_worker() -> AbstractContextManager[None]:
    """Keep the devices for a worker while a block runs.

    Raises:
        InUseError: another worker or a search uses them.
        StoreError: the cache folder cannot be written, or there is no home folder for it.
    """
    advice = "one worker is enough, and a search on this machine has to end first"
    elsewhere = "set OVPLACE_CACHE to a folder that can be written"
    return locked(cache_folder() / _NAME, "the devices of this machine are used by", advice, elsewhere)


@contextmanager
def for_search() -> Iterator[None]:
    """Keep workers from the devices while a block runs; a cache folder that cannot be written keeps nobody.

    Raises:
        InUseError: a worker uses them.
    """
    what, advice = "the devices of this machine measure for a fleet, by", "search with --cluster, or stop the worker"
    with ExitStack() as held:
        try:
            held.enter_context(shared(cache_folder() / _NAME, what, advice))
        except InUseError:
            raise
        except StoreError:
            pass
        yield
