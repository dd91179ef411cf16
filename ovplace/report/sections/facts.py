"""The facts behind a run: output check, devices, environment, where the time went, and the command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from ovplace.core.result.labels import number
from ovplace.core.text.plural import plural
from ovplace.report.evidence import Evidence

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FactsSection:
    """The facts of a run, as text.

    Attributes:
        reference: what outputs were compared with; empty where they were not.
        outputs: name, largest absolute and relative difference and cosine of each output.
        devices: name, hardware and properties of each device.
        environment: names and values.
        seconds: wall time of each part of the run.
        command: the command that was run; empty for a call from Python.
    """

    reference: str
    outputs: tuple[tuple[str, str, str, str], ...]
    devices: tuple[tuple[str, str, str], ...]
    environment: Pairs
    seconds: Pairs
    command: str


def facts_section(evidence: Evidence) -> FactsSection:
    """Return the facts of a run."""
    result = evidence.result
    seconds = asdict(result.search.seconds)
    return FactsSection(
        reference=result.accuracy.reference,
        outputs=tuple(
            (o.name, f"{o.max_abs:.2g}", f"{o.max_rel:.2g}", f"{o.cosine:.7f}") for o in result.accuracy.outputs
        ),
        devices=tuple((evidence.label(d.name), d.full_name, _properties(d.properties)) for d in result.devices),
        environment=tuple((name, value) for name, value in _environment(evidence) if value),
        seconds=tuple((name, f"{value:.1f} s") for name, value in seconds.items() if value is not None),
        command=result.environment.command,
    )


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in properties.items())


def _environment(evidence: Evidence) -> Iterator[tuple[str, str]]:
    result = evidence.result
    environment, model = result.environment, result.model
    yield "model", model.path
    yield "operations", f"{model.ops:,} in {model.groups:,} groups"
    yield "model hash", model.hash
    yield "simulated machine", environment.simulated
    yield "processor", environment.cpu
    yield "system", environment.platform
    yield from ((f"{name} version", version) for name, version in environment.versions.items())
    yield from ((f"driver of {name}", driver) for name, driver in environment.drivers.items())
    for machine in result.search.machines:
        reference = f", the reference took {number(machine.reference_ms)} ms there" if machine.reference_ms else ""
        aside = f"; set aside: {machine.aside}" if machine.aside else ""
        yield f"machine {machine.name}", f"{plural(machine.trials, 'placement')}{reference}{aside}"
    yield "placer", result.search.placer
    yield "coarsener", result.search.coarsener
    yield "seed", str(environment.seed)
    yield "run folder", str(result.folder)
