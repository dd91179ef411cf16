"""Where a form cannot be written whole, what was there stays."""

import resource
from contextlib import contextmanager

import pytest

from ovplace.commands.export import export, exporter
from ovplace.errors import OvplaceError


@contextmanager
def full_disk(room=20):
    """Let no file grow beyond a number of bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["cpp", "dot", "ir", "json", "netron", "onnxruntime", "python"])
def test_the_old_files_stay_and_no_others_are_left(name, nasty, tmp_path):
    using = exporter(name)
    export(nasty, using, tmp_path / using.target)
    before = contents(tmp_path)
    with full_disk(), pytest.raises(OvplaceError, match="cannot write"):
        export(nasty, using, tmp_path / using.target)
    assert contents(tmp_path) == before


def contents(folder):
    """Return the content of each file below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
