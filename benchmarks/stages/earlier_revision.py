"""Default searches by an earlier revision of ovplace against searches by this one.

Each model is searched twice with an empty cache: with `now_s` for the call, then by the earlier revision with
`earlier_s`. `now` and `earlier` are the placements measured in so many seconds of search, and `speed` is how many times
as many are measured in the same time now. Then both answers and the CPU alone take turns in fresh processes: `now /
earlier` is below 1 where the search of today found the faster placement, the other two are the latencies of the answers
over that of the CPU; all with 95 % intervals over the processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row
from benchmarks.revisions import checked_out, searched_by
from benchmarks.sessions import opened_session, own_cache, searched
from benchmarks.turns import in_turns, ratio_of
from ovplace.core.measurement import Measurement
from ovplace.core.placement import Placement
from ovplace.core.text.json_text import parse_json
from ovplace.session.session import Session
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes, or model files.
        revision: the earlier revision; by default one that measured only whole placements.
        now_s: limit of this revision's call.
        earlier_s: limit of the earlier revision's call, or of its search where `--time` limits only that.
        rounds: fresh processes in which both answers take turns.
    """

    models: tuple[str, ...] = ("demo", "siren", "hyperbolic")
    revision: str = "43b0ab1"
    now_s: float = 120.0
    earlier_s: float = 600.0
    rounds: int = 12


SHORT = Options(models=("hyperbolic",), revision="HEAD", now_s=6.0, earlier_s=6.0, rounds=2)


@dataclass(frozen=True)
class _Search:
    """What a search found, and how much it measured.

    Attributes:
        answer: its placement.
        measured: placements.
        seconds: of search, without profile and comparison.
    """

    answer: Placement
    measured: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.measured} in {self.seconds:.0f} s"

    @property
    def rate(self) -> float:
        return self.measured / self.seconds if self.seconds else 0.0


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model."""
    with checked_out(options.revision) as checkout:
        for model in options.models:
            with opened_session(model, "cpu+emulated-gpu") as measurer:
                session = measurer.session
                with own_cache() as folder:
                    searched(model, folder / "now", options.now_s, None, stages=True)
                    now = _search(session, folder / "now")
                with own_cache() as folder:
                    searched_by(checkout, model, folder / "earlier", options.earlier_s)
                    earlier = _search(session, folder / "earlier")
                measured = in_turns(session, [now.answer, earlier.answer], options.rounds)
            yield _row(model, now, earlier, measured)


def _search(session: Session, folder: Path) -> _Search:
    run = RunFolder(folder)
    search = parse_json(run.result.read_text(encoding="utf-8"))["search"]
    answer = Placement.from_names(session.graph, run.read_placement())
    return _Search(answer, search["measured"], search["seconds"]["search"])


def _row(model: str, now: _Search, earlier: _Search, measured: list[list[Measurement]]) -> Row:
    pairs = {"now / earlier": (0, 1), "now / CPU": (0, 2), "earlier / CPU": (1, 2)}
    return {
        "model": Path(model).stem,
        "now": str(now),
        "earlier": str(earlier),
        "speed": f"{now.rate / earlier.rate:.1f}" if earlier.rate else "-",
        **{name: ratio_of(measured, *pair) for name, pair in pairs.items()},
    }
