"""The verdict of a run in one sentence, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ovplace.core.result.labels import ends, error, number, other_ratios, percent, size, why_not_another
from ovplace.core.verdict import Status
from ovplace.report.evidence import Evidence

_BADGES = {
    Status.FASTER: "faster",
    Status.SAME: "no significant difference",
    Status.BASELINE: "the baseline is best",
}


@dataclass(frozen=True)
class VerdictSection:
    """What the run found.

    Attributes:
        status: `faster`, `same` or `baseline`.
        badge: the same in words.
        sentence: the answer.
        caution: what to know of all figures: that they are simulated, or that a device is emulated; may be empty.
        notes: further remarks, each a sentence.
        figures: name and value of what the answer consists of.
    """

    status: str
    badge: str
    sentence: str
    caution: str
    notes: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]


def verdict_section(evidence: Evidence) -> VerdictSection:
    """Return the verdict of a run."""
    result = evidence.result
    compared = result.verdict.ratio is not None
    return VerdictSection(
        status=result.verdict.status.value,
        badge=_BADGES[result.verdict.status] if compared else "not compared",
        sentence=_sentence(evidence),
        caution=caution(result.environment.simulated, [device.name for device in result.devices if device.emulated]),
        notes=(*other_ratios(result), *(f"{note[0].upper()}{note[1:]}." for note in result.verdict.notes)),
        figures=tuple(_figures(evidence)),
    )


def _sentence(evidence: Evidence) -> str:
    result, ratio = evidence.result, evidence.result.verdict.ratio
    against, alone = evidence.label(result.verdict.against), result.verdict.against in result.device_names
    if result.verdict.status == Status.FASTER and ratio:
        slower = f"with {against} alone" if alone else f"with {against}"
        return f"With {_moved(evidence)}, one inference takes {percent(1 - ratio.value)} less time than {slower}."
    answer = f"Everything stays on {against}" if alone else f"{against} is the answer"
    return f"{answer}: {why_not_another(result.verdict.status, ratio)}." if ratio else f"{answer}."


def _moved(evidence: Evidence) -> str:
    counts = [(name, count) for name, count in evidence.result.best.ops_per_device.items() if count]
    (name, first), *rest = counts
    texts = [f"{first:,} of {evidence.result.model.ops:,} operations on {evidence.label(name)}"]
    texts += [f"{count:,} on {evidence.label(name)}" for name, count in rest]
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def caution(machine: str, emulated: Sequence[str]) -> str:
    """Return what to know of all figures; empty for real devices.

    Args:
        machine: name of the simulated machine; empty where inferences are run.
        emulated: names of the emulated devices.
    """
    if machine:
        return f"All figures are simulated, on the machine {machine}; no inference was run."
    if not emulated:
        return ""
    are = "is" if len(emulated) == 1 else "are"
    return f"{', '.join(emulated)} {are} emulated: the GPU plugin runs on the processor, so no time is a real GPU's."


def _figures(evidence: Evidence) -> list[tuple[str, str]]:
    result = evidence.result
    best, ratio, worst = result.best, result.verdict.ratio, result.accuracy.max_rel_error
    return [
        ("Latency", f"{number(best.latency_ms.value)} ms" if best.latency_ms else "not measured"),
        (f"Ratio to {evidence.label(result.verdict.against)}", f"{ratio.value:.3f}" if ratio else "not compared"),
        *([(f"{100 * ratio.level:.0f} % interval", ends(ratio))] if ratio else []),
        ("Submodels", str(len(best.submodels))),
        ("Copied between devices", size(best.cut_bytes)),
        ("Largest output error", "not checked" if worst is None else error(worst)),
        ("Placements tried", f"{result.search.trials:,}"),
    ]
