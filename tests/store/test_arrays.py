"""Archives of arrays: any name, the same bytes, and one line for what is damaged."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest

from ovplace.store.arrays import read_arrays, write_arrays
from ovplace.testing.hostile import mutated


@pytest.mark.parametrize("name", ["file", "allow_pickle", "args", "past/0/key", "x[0],y", "né"])
def test_an_array_has_any_name(tmp_path, name):
    write_arrays(tmp_path / "a.npz", {name: np.arange(3), "other": np.array("text")})
    with np.load(tmp_path / "a.npz") as archive:
        assert set(archive.files) == {name, "other"}
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz")[name], np.arange(3))


def test_the_same_arrays_are_the_same_bytes(tmp_path):
    for path in (tmp_path / "a.npz", tmp_path / "b.npz"):
        write_arrays(path, {"x": np.ones((2, 3), np.float32)})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def damaged(rng):
    """Return an archive as numpy writes them, compressed or not, with some bytes changed or lost."""
    written = io.BytesIO()
    save = rng.choice((np.savez, np.savez_compressed))
    save(written, x=np.arange(200.0), y=np.array(["a", "b"]))
    return mutated(written.getvalue(), rng)


def test_whatever_is_damaged_is_one_line(tmp_path):
    refused = 0
    for seed in range(300):
        (tmp_path / "a.npz").write_bytes(damaged(random.Random(seed)))
        try:
            read_arrays(tmp_path / "a.npz")
        except (OSError, ValueError) as error:
            refused += 1
            assert len(str(error).splitlines()) == 1
    assert refused > 100


def test_what_is_no_archive_is_called_so(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    whole = io.BytesIO()
    np.savez(whole, x=np.arange(200.0))
    for content in (b"", b"hello", (tmp_path / "a.npy").read_bytes(), whole.getvalue()[:400]):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"^it is not an \.npz archive, or is cut off$"):
            read_arrays(tmp_path / "a.npz")
    with pytest.raises(OSError, match="No such file"):
        read_arrays(tmp_path / "b.npz")


def test_a_compressed_stream_that_is_damaged(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(200.0))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[60:80] = bytes(20)
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ValueError, match="decompressing"):
        read_arrays(tmp_path / "a.npz")
