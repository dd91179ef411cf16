"""Whatever stands in a file or an option: it is read, or refused in one line, quickly, and never runs."""

from __future__ import annotations

import base64
import json
import random
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ovplace.testing.hostile import PARSERS, is_read, mutated

CORPUS = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "corpus").iterdir())}
SLOWEST_S = 5.0
"""Processor time, far more than any takes; a busy machine may hold a process up for longer than that."""


def refused(name, data):
    """Read the data; return whether it was refused. Anything but our own errors gets out."""
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        try:
            return not is_read(name, data, Path(folder))
        finally:
            assert time.process_time() - start < SLOWEST_S


def test_every_parser_has_an_example_that_it_reads():
    assert CORPUS.keys() == PARSERS.keys()
    assert [name for name in PARSERS if refused(name, CORPUS[name])] == []


def weights(*tensors):
    return base64.b64encode(json.dumps({"version": 1, "tensors": tensors, "about": []}).encode() + b"\n" + bytes(64))


def check(name, seed):
    refused(name, mutated(CORPUS[name], random.Random(seed)))


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_mutations(name, seed):
    check(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_many_mutations(name, seed):
    check(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=300))
def test_anything(name, data):
    refused(name, data)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("placement.json", b"[" * 200_000),
        ("config.toml", b"a = " + b"[" * 200_000),
        ("machine.toml", b"a = 1" + b"9" * 5000),
        ("devices.txt", b"," * 200_000),
        ("shapes.txt", b"[" + b"9" * 5000 + b"]"),
        ("weights.txt", b"gAN9cQAu"),
        ("weights.txt", weights(["a", ",f4", []])),
        ("weights.txt", weights(["a", "<f4", [0, 10**30]])),
        ("result.json", CORPUS["result.json"].replace(b'"submodels": []', b'"submodels": 1.5', 1)),
        ("result.json", CORPUS["result.json"].replace(b'"ops": ', b'"ops": true, "was": ', 1)),
    ],
)
def test_what_has_been_wrong_before(name, data):
    assert refused(name, data)
