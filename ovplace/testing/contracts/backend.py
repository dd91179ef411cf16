"""Contract tests of backends: inherit `BackendContract` and define the fixtures `plugin` and `job`.

class TestMine(BackendContract):
    @pytest.fixture
    def plugin(self) -> Plugin:
        return registry.load("backends", "mine")

    @pytest.fixture
    def job(self, plugin: Plugin) -> Job:
        return Job(model_path, two_devices, options=asdict(plugin.Config()))
"""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from ovplace.core.measurement import Candidate, Job, Measurement, MeasureSpec
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.measuring.messages import data_of, message_of
from ovplace.plugins.protocols import Backend
from ovplace.plugins.registry import Plugin
from ovplace.testing.contracts.plugin import PluginContract

SPEC = MeasureSpec(warmup=1, blocks=2, repeats=3, min_time_ms=0.0, hopeless_ratio=1e6)


class BackendContract(PluginContract):
    """Checks a backend on a small model and two devices that each run all of it."""

    @pytest.fixture
    def job(self) -> Job:
        """Return a small model on two devices."""
        raise NotImplementedError("give BackendContract a 'job' fixture")

    @pytest.fixture
    def backend(self, plugin: Plugin, job: Job) -> Backend:
        """Return an instance of the backend."""
        built: Backend = plugin.factory(job)
        return built

    @pytest.fixture
    def singles(self, backend: Backend, job: Job) -> list[Candidate]:
        """Return the placements of all operations on each device."""
        n, names = len(backend.supported()), tuple(device.name for device in job.devices)
        return [Candidate(name, Placement.uniform(n, name, names)) for name in names]

    def test_says_whether_it_can_work(self, plugin: Plugin) -> None:
        """`available` returns a text, and the class declares whether its figures are simulated."""
        assert plugin.factory.available() == ""
        assert isinstance(plugin.factory.simulated, bool)

    def test_what_it_stands_for(self, plugin: Plugin) -> None:
        """A machine of its own has a name, devices and a digest, the same each time; else there is none of them."""
        config = plugin.Config()
        own, digest = plugin.factory.own_devices(config), plugin.factory.digest(config)
        assert digest == plugin.factory.digest(config)
        assert isinstance(digest, str)
        if own is not None:
            name, devices = own
            assert isinstance(name, str)
            assert len({device.name for device in devices}) == len(devices) > 0
            assert all(device.facts["full_name"] for device in devices)

    def test_costs_where_it_knows_them(self, plugin: Plugin, backend: Backend, job: Job) -> None:
        """The table has a row for each group and a column for each device."""
        partition = Partition.identity(len(backend.supported()))
        if not plugin.factory.knows_costs:
            with pytest.raises(NotImplementedError):
                backend.costs(partition)
            return
        assert backend.costs(partition).group_ms.shape == (partition.n_groups, len(job.devices))

    def test_facts_are_text(self, backend: Backend) -> None:
        """Facts are part of the store's key: text, and the same each time."""
        facts = backend.facts()
        assert facts
        assert all(isinstance(key, str) and isinstance(value, str) for key, value in facts.items())
        assert dict(backend.facts()) == dict(facts)
        assert message_of(data_of(facts)) == facts

    def test_supported_is_a_table(self, backend: Backend, job: Job) -> None:
        """Rows are operations, columns devices."""
        table = np.asarray(backend.supported())
        assert table.dtype == bool
        assert table.ndim == 2
        assert table.shape[1] == len(job.devices)
        assert table.any(axis=0).all()

    def test_one_measurement_a_candidate_in_order(self, backend: Backend, singles: list[Candidate]) -> None:
        """Each answer belongs to its candidate, in any order."""
        for asked in (singles, singles[::-1], singles[:1]):
            measured = backend.measure(asked, SPEC)
            assert [m.submodels for m in measured] == [(candidate.name,) for candidate in asked]

    def test_samples_are_positive_and_in_blocks(self, backend: Backend, singles: list[Candidate]) -> None:
        """Every block has as many samples as were asked for."""
        for m in backend.measure(singles, SPEC):
            assert m.ok, m.error_text
            assert len(m.blocks) == SPEC.blocks
            assert min(m.blocks) >= SPEC.repeats
            assert min(m.samples_ms) > 0

    def test_measurements_travel(self, backend: Backend, singles: list[Candidate]) -> None:
        """Measurements are unchanged after their way to another process and after storing."""
        for m in backend.measure(singles, SPEC):
            assert message_of(data_of(m)) == m
            assert Measurement.from_dict(json.loads(json.dumps(m.to_dict()))) == m

    def test_a_bad_candidate_fails_alone(self, backend: Backend, singles: list[Candidate]) -> None:
        """A failing candidate gets a failed measurement and leaves the others of the request intact."""
        placement = singles[0].placement
        assert placement is not None
        short = Candidate("short", Placement(placement.device_of[1:], placement.devices))
        nowhere = Candidate("nowhere", target="ABSENT")
        measured = backend.measure([short, singles[0], nowhere, singles[1]], SPEC)
        assert [m.ok for m in measured] == [False, True, False, True]
        for failed in (measured[0], measured[2]):
            assert failed.error_text
            assert "\n" not in failed.error_text

    def test_parts_are_timed_alone(self, backend: Backend, singles: list[Candidate]) -> None:
        """A part has its device and samples, and no outputs to check; a missing part fails alone."""
        n = len(backend.supported())
        parts = [dataclasses.replace(candidate, part=tuple(range(n))) for candidate in singles]
        absent = dataclasses.replace(singles[0], part=(n,))
        measured = backend.measure([*parts, absent, singles[0]], SPEC)
        assert [m.ok for m in measured] == [True] * len(parts) + [False, True], [m.error_text for m in measured]
        assert [m.submodels for m in measured[:-2]] == [(candidate.name,) for candidate in singles]
        assert not any(m.outputs for m in measured[:-2])

    def test_goes_on_after_a_failure(self, backend: Backend, singles: list[Candidate]) -> None:
        """A backend works after a request in which all candidates failed."""
        assert not backend.measure([Candidate("nowhere", target="ABSENT")], SPEC)[0].ok
        assert backend.measure(singles[:1], SPEC)[0].ok

    def test_no_candidates_no_measurements(self, backend: Backend) -> None:
        """An empty request has an empty answer."""
        assert list(backend.measure([], SPEC)) == []
