"""What runs survive: faults at random moments.

A run of a tiny model with computed latencies is struck at 40 % of the steps that it tells of, up to 80 ms later, until
it has ended; where a fault ends it, the same command continues it. *survived*: the run went on or was continued, and
ended with the trials of one that nothing strikes, each recorded once. *trials lost*: they failed by the fault, or were
measured and not stored. *by one fault*: the most of them, for faults that end the run. *left behind*: processes,
temporary files, sockets and locks. Faults of the child strike the next request, whose deadline is 1.5 s. Rows of *real*
faults are runs with OpenVINO on the CPU under two names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from benchmarks.report import Row
from ovplace.seeds import generator
from ovplace.testing.faults import armed_openvino
from ovplace.testing.faults.kinds import KINDS, REAL_KINDS, Kind
from ovplace.testing.faults.striking import Outcome, Setting, strike_run, undisturbed
from ovplace.testing.models import TINY


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        injected: faults of each kind on computed latencies, at least.
        real: faults of each kind on real inferences, at least; 0 for none.
        only: kinds whose names contain one of these texts, divided by commas.
        seed: of the moments.
    """

    injected: int = 20
    real: int = 3
    only: str = ""
    seed: int = 0


SHORT = Options(injected=1, real=0, only="killed")


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each kind of fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "tiny.xml"
        ov.save_model(TINY["residual"](), model, compress_to_fp16=False)
        yield from _rows("computed", KINDS, Setting(model, folder / "computed"), options.injected, options)
        real = Setting(model, folder / "real", 6, armed_openvino.NAME)
        yield from _rows("real", REAL_KINDS, real, options.real, options)


def _rows(
    latencies: str, kinds: Mapping[str, Kind], setting: Setting, injected: int, options: Options
) -> Iterator[Row]:
    wanted = {
        name: kind for name, kind in kinds.items() if injected and any(text in name for text in options.only.split(","))
    }
    expected = undisturbed(setting.at("undisturbed")) if wanted else []
    for name, kind in wanted.items():
        found = _outcome(setting, kind, name, expected, injected, options.seed)
        yield {
            "latencies": latencies,
            "fault": name,
            "injected": found.injected,
            "survived": found.survived,
            "trials lost": found.lost,
            "by one fault": found.most if kind.ends else "",
            "left behind": ", ".join(found.left) or "nothing",
            "seconds": round(found.seconds),
        }


def _outcome(setting: Setting, kind: Kind, name: str, expected: Sequence[str], injected: int, seed: int) -> Outcome:
    """Return what became of as many runs as it takes for the wanted number of faults."""
    outcome, number = Outcome(), 0
    while outcome.injected < injected and number < 2 * injected:
        rng = generator(seed, "faults", name, number)
        place = setting.at(f"{name}-{number}".replace(" ", "-"))
        outcome += strike_run(place, kind, expected, rng, injected - outcome.injected)
        number += 1
    return outcome
