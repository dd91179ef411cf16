"""What is sent comes back equal, and what is no request is refused."""

import asyncio
import errno
import hashlib
import json
import os
from pathlib import Path

import msgpack
import numpy as np
import openvino as ov
import pytest

from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec, OutputError
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.devices.select import Selection
from ovplace.errors import BackendError, DeviceError, StoreError, UsageError
from ovplace.fleet import wire
from ovplace.fleet.files import FileStore, hash_of, read_chunk
from ovplace.fleet.job_runner import ProcessRunner
from ovplace.fleet.machine import DeviceClass, Machine, class_of
from ovplace.testing.models import residual
from ovplace.train.worker_training import WorkerTraining

MACHINE = "i9-12900k+flex170"


def sent(data):
    return msgpack.unpackb(msgpack.packb(data), strict_map_key=False)


PLACED = Placement(np.array([0, 1, 1]), ("GPU", "CPU"))
CANDIDATES = (
    Candidate("trial 1", PLACED, staged=True),
    Candidate("part", PLACED, part=(0, 2)),
    Candidate("AUTO", target="AUTO:GPU,CPU", reference=True),
)


def test_candidates():
    data = sent(wire.pack_arguments("measure", (CANDIDATES, MeasureSpec(blocks=2))))
    candidates, spec = wire.unpack_arguments("measure", data)
    assert [c.hash for c in candidates] == [c.hash for c in CANDIDATES]
    for found, wanted in zip(candidates, CANDIDATES, strict=True):
        assert (found.name, found.part, found.staged) == (wanted.name, wanted.part, wanted.staged)
        assert found.reference == wanted.reference
    assert spec == MeasureSpec(blocks=2)


def test_values():
    measured = [
        Measurement((1.0, 2.0), (2,), outputs=(OutputError("y", 0.0, 0.0, 1.0),), facts={"a": "b"}, stages_ms=(0.5,)),
        Measurement.failed(ErrorKind.COMPILE, "no"),
    ]
    assert wire.unpack_value("measure", sent(wire.pack_value("measure", measured))) == measured
    supported = np.random.default_rng(0).random((7, 3)) < 0.5
    assert (wire.unpack_value("supported", sent(wire.pack_value("supported", supported))) == supported).all()
    assert wire.unpack_value("start", sent(wire.pack_value("start", None))) is None
    (partition,) = wire.unpack_arguments("costs", sent(wire.pack_arguments("costs", (Partition(np.array([0, 1, 0])),))))
    assert partition.group_of.tolist() == [0, 1, 0]


def test_errors_keep_their_kind_and_name_the_machine():
    error = wire.unpack_error(sent(wire.pack_error(DeviceError("no GPU"))), "box")
    assert isinstance(error, DeviceError)
    assert str(error) == "no GPU (on machine 'box')"
    assert isinstance(wire.unpack_error(["SystemExit", "x"], "box"), BackendError)


@pytest.mark.parametrize("method", ["preload", "__init__", "close", "import"])
def test_other_operations_are_refused(method):
    with pytest.raises(ValueError, match="no operation"):
        wire.unpack_arguments(method, [])


def remote(**changed):
    files = {"model.xml": "0" * 64, "model.bin": "0" * 64}
    return wire.RemoteJob(**{"number": "1", "backend": "simulate", "devices": (), "files": files, **changed})


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"backend": "antigravity"}, "not installed"),
        ({"backend": "ovplace.testing.fake_backend"}, "not installed"),
        ({"files": {"model.xml": "0" * 64, "model.bin": "0" * 64, "../x": "0" * 64}}, "a job has the files"),
        ({"options": {"machine": "/etc/passwd"}}, "simulates no other"),
    ],
)
def test_a_job_may_not_name_code_or_files(changed, text, tmp_path):
    with pytest.raises(UsageError, match=text):
        asyncio.run(ProcessRunner(FileStore(tmp_path), WorkerTraining).run(remote(**changed), "start", ()))


def test_a_device_may_not_name_files():
    data = remote(devices=(Device("CPU", "CPU"),)).to_dict()
    data["devices"][0]["properties"] = {"CACHE_DIR": "/tmp"}
    with pytest.raises(DeviceError, match="CACHE_DIR"):
        wire.RemoteJob.from_dict(sent(data))


def test_files_arrive_whole_or_not_at_all(tmp_path):
    source, store = tmp_path / "model.bin", FileStore(tmp_path / "store")
    source.write_bytes(b"weights")
    digest = hash_of(source)
    store.add_chunk(digest, 0, b"wei", is_last=False)
    assert not store.has(digest)
    with pytest.raises(StoreError, match="another content"):
        store.add_chunk(digest, 3, b"ghtz", is_last=True)
    assert not store.has(digest)
    store.add_chunk(digest, 0, *read_chunk(source, 0)[:1], is_last=True)
    store.copy(digest, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"weights"
    store.path(digest).write_bytes(b"changed")
    with pytest.raises(StoreError, match="damaged"):
        store.copy(digest, tmp_path / "copy")
    assert not store.has(digest)


@pytest.mark.parametrize("sender", ["", "search 1"])
def test_files_that_do_not_arrive_whole_leave_nothing(tmp_path, sender, monkeypatch):
    store, digest = FileStore(tmp_path), hashlib.sha256(b"whole").hexdigest()
    store.add_chunk(digest, 0, b"who", is_last=False, sender=sender)
    store.add_chunk(digest, 0, b"who", is_last=False, sender="search 11")
    store.drop_unfinished(sender)
    assert [path.name for path in tmp_path.iterdir()] == [f"{digest}search 11.{os.getpid()}.tmp"]
    monkeypatch.setattr(FileStore, "_make_way", full_disk)
    with pytest.raises(StoreError, match="No space left"):
        store.add_chunk(digest, 3, b"le", is_last=True, sender="search 11")
    assert not list(tmp_path.iterdir())


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_files_take_no_more_than_their_room(tmp_path):
    store, contents = FileStore(tmp_path / "store", room_bytes=10), [b"first", b"again", b"other", b"x" * 11]
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    for number in range(2):
        store.add_chunk(digests[number], 0, contents[number], is_last=True)
        os.utime(store.path(digests[number]), (number, number))
    store.copy(digests[0], tmp_path / "copy")  # so that the second is the one that was not used
    store.add_chunk(digests[2], 0, contents[2], is_last=True)
    assert [store.has(digest) for digest in digests[:3]] == [True, False, True]
    store.add_chunk(digests[3], 0, contents[3][:6], is_last=False)
    with pytest.raises(StoreError, match="larger --room"):
        store.add_chunk(digests[3], 6, contents[3][6:], is_last=True)
    assert sorted(path.name for path in store.folder.iterdir()) == sorted([digests[0], digests[2]])


@pytest.mark.parametrize("use", [FileStore.has, lambda store, digest: store.chunk(digest, 0)], ids=["asked", "sent"])
def test_what_is_used_is_kept_for_longer_than_what_came_later(tmp_path, use):
    store, contents = FileStore(tmp_path, room_bytes=10), [b"first", b"again", b"other"]
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    for number in range(2):
        store.add_chunk(digests[number], 0, contents[number], is_last=True)
        os.utime(store.path(digests[number]), (number, number))
    use(store, digests[0])
    store.add_chunk(digests[2], 0, contents[2], is_last=True)
    assert [store.path(digest).exists() for digest in digests] == [True, False, True]


def test_a_file_that_another_process_deletes_meanwhile_is_no_error(tmp_path, monkeypatch):
    store, is_file = FileStore(tmp_path, room_bytes=10), Path.is_file
    digests = [hashlib.sha256(content).hexdigest() for content in (b"first", b"again")]
    store.add_chunk(digests[0], 0, b"first", is_last=True)

    def looked_up(path):
        found = is_file(path)
        if path.name == digests[0]:
            path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(Path, "is_file", looked_up)
    store.add_chunk(digests[1], 0, b"again", is_last=True)
    assert [store.has(digest) for digest in digests] == [False, True]


def stored_model(files):
    """Put a model into a store; return its files."""
    model = files.folder / "model.xml"
    ov.save_model(residual(), model, compress_to_fp16=False)
    found = {path.name: hash_of(path) for path in (model, model.with_suffix(".bin"))}
    for name, digest in found.items():
        (files.folder / name).rename(files.path(digest))
    return found


def test_a_worker_keeps_few_jobs_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("ovplace.fleet.job_runner.MOST_JOBS", 2)
    files = FileStore(tmp_path)
    found = stored_model(files)
    runner = ProcessRunner(files, WorkerTraining)

    async def ask(number):
        job = remote(number=str(number), files=found, devices=(Device("CPU", "CPU"),), options={"machine": MACHINE})
        return await runner.run(job, "facts", ())

    try:
        answers = [asyncio.run(ask(number)) for number in (0, 1, 2, 3, 0)]
        assert len(list((tmp_path / "jobs").glob("*/model.bin"))) == 2
        assert answers == answers[:1] * len(answers)
    finally:
        runner.close()
    assert not list((tmp_path / "jobs").iterdir())


def test_noise_is_not_repeated_by_a_job_that_is_set_up_again(tmp_path, monkeypatch):
    monkeypatch.setattr("ovplace.fleet.job_runner.MOST_JOBS", 1)
    files = FileStore(tmp_path)
    found, runner = stored_model(files), ProcessRunner(files, WorkerTraining)
    asked = (Candidate("CPU", target="CPU"),), MeasureSpec()

    async def measure(number):
        job = remote(number=number, files=found, devices=(Device("CPU", "CPU"),), options={"machine": MACHINE})
        return (await runner.run(job, "measure", asked))[0].samples_ms

    try:
        first, other, again = [asyncio.run(measure(number)) for number in "121"]
    finally:
        runner.close()
    assert first == other
    assert first != again


def test_a_job_that_ended_is_refused_until_the_next_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr(ProcessRunner, "_measure", lambda self, job, *_: self._check_asked(job) or "measured")
    runner = ProcessRunner(FileStore(tmp_path), WorkerTraining)
    try:
        asyncio.run(runner.forget(remote().number))
        with pytest.raises(BackendError, match="is gone"):
            asyncio.run(runner.run(remote(), "facts", ()))
        runner.begin()
        assert asyncio.run(runner.run(remote(), "facts", ())) == "measured"
    finally:
        runner.close()


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "/" + "0" * 63])
def test_hashes_name_no_other_files(digest, tmp_path):
    with pytest.raises(ValueError, match="not a hash"):
        FileStore(tmp_path).path(digest)


def test_machines_are_alike_where_the_devices_of_the_run_are():
    cpu = Device("CPU", "CPU", facts={"full_name": "Xeon", "capabilities": "BF16"})
    gpu = Device("GPU.0", "GPU.0", facts={"full_name": "Flex", "driver": "1"})
    newer = Device("GPU", "GPU", facts={"full_name": "Flex", "driver": "2"})
    versions = {"openvino": "2026.4"}
    a, b = Machine("a", (cpu, gpu), versions=versions), Machine("b", (cpu, newer), versions=versions)
    assert Machine.from_dict(sent(a.to_dict())) == a
    one, both = class_of(a, Selection((cpu,))), class_of(a, Selection((cpu, Device("GPU", "GPU"))))
    assert DeviceClass.from_dict(json.loads(json.dumps(both.to_dict()))) == both
    assert (one.has(a), one.has(b)) == (True, True)
    assert (both.has(a), both.has(b)) == (True, False)
    assert not one.has(Machine("c", (cpu,), versions={"openvino": "2026.5"}))


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "ä", "a\n"])
def test_names_of_machines(name):
    with pytest.raises(UsageError, match="cannot name a machine"):
        Machine(name)
