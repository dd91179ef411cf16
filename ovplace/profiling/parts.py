"""Timing the parts of a model on the devices of a run, within a time budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import groupby

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import NEVER_HOPELESS, Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.cost.calibration.assemble import assemble
from ovplace.cost.calibration.links import Links, fit_links, link_intervals
from ovplace.cost.calibration.part_layout import PartLayout, PartTask, PartTimes
from ovplace.graphs.op_graph import FloatArray
from ovplace.measuring.pool import Pool
from ovplace.profiling.links import CUTS, LinkBench, LinkSamples
from ovplace.profiling.timed_parts import TimedParts
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer, was_lost
from ovplace.session.session import Session

LINKS_SHARE = 0.3
"""Part of the budget after which no further piece of the link model is measured."""

SINGLES_SHARE = 0.75
"""Part of the budget after which no further group is timed alone: without the pairs, sums of parts say little."""

REQUEST_S = 4.0
"""About how long a request takes: longer ones would overrun the budget, shorter ones only cost round trips."""

FINE_ENOUGH = 0.8
"""Part of the units that there is time for now which an earlier profile must have for its times to be used."""

PART_S = 0.15
"""Seconds assumed for compiling and timing a part before any is measured; decides how finely a large model is cut."""

SLOW_MS = 30.0
"""A part that is expected to take longer gets one sample."""

OVERRUN_S = 5.0
"""A request that begins within the budget may end this much later."""

OpenLinks = Callable[[Session], AbstractContextManager[tuple[LinkBench, Pool]]]
Keep = Callable[[TimedParts], None]


@dataclass(frozen=True)
class ProfileReport:
    """The effort and the precision of a profile.

    Attributes:
        seconds: it took, those of the calls that it goes on with included.
        measured: parts timed: single units and pairs.
        failed: parts that do not run on their device.
        estimated: parts for which time was up; their costs are guessed from those that were timed.
        guessed: units that fail by themselves on a device that runs the whole model; their costs are guessed likewise.
        units: what was timed as one; fewer than groups where there are very many.
        cuts: cuts timed between devices, of those there are.
        spread: median over parts of the range of their blocks' medians, over their median.
        link_interval: `[lowest, highest]` of each term of the links, block by block.
    """

    seconds: float
    measured: int
    failed: int
    estimated: int
    guessed: int
    units: int
    cuts: str
    spread: float
    link_interval: dict[str, list[object]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Profile:
    """A measured cost table.

    Attributes:
        table: the costs.
        report: effort and precision.
        parts: what was measured.
        reused: whether there are timed parts, and earlier runs have timed all of them.
    """

    table: CostTable
    report: ProfileReport
    parts: TimedParts
    reused: bool


class Profiler:
    """Measures one profile: cuts, then each group on each device, then pairs of neighbours."""

    def __init__(
        self,
        measurer: Measurer,
        whole_ms: FloatArray,
        listener: Listener,
        budget_s: float,
        known: TimedParts | None = None,
        keep: Keep = lambda _: None,
    ) -> None:
        """Plan the measurements.

        Args:
            measurer: the run's measurer.
            whole_ms: latency of the whole model on each device, `[D]`.
            listener: is called with each step.
            budget_s: time limit in seconds.
            known: what an earlier call has measured of this model.
            keep: is called with all that was measured, whenever there is more of it.
        """
        self._measurer, self._listener, self._keep = measurer, listener, keep
        self._problem, self._config = measurer.session.problem, measurer.session.config.profiling
        self._clock = measurer.time.clock
        self._start, self._budget_s = self._clock(), budget_s
        d = len(self._problem.devices)
        layout = PartLayout.of(self._problem, max(2, int(0.5 * budget_s / PART_S / d)))
        known = known or TimedParts(layout.unit_of)
        if known.unit_of.max() < FINE_ENOUGH * layout.unit_of.max():  # the links are those of any units
            known = replace(known, unit_of=layout.unit_of, times=PartTimes())
        self._known, self._layout = known, PartLayout.of_units(self._problem, known.unit_of)
        self._whole_ms, self._times = whole_ms, PartTimes(dict(self._known.times.ms))
        self._links = LinkSamples(list(self._known.links.alone), list(self._known.links.splits), self._known.links.cuts)
        self._too_large: set[PartTask] = set()  # for the memory that there is now; a later run may have more
        self._overhead_s = [[PART_S] for _ in range(d)]  # of each part timed so far, inferences apart
        self._wanted = set(self._layout.singles())

    def run(self, open_links: OpenLinks) -> Profile:
        """Measure within the time limit, and assemble the costs.

        Args:
            open_links: opens the link model.

        Raises:
            BackendError: the measuring process cannot be started.
        """
        with suppress(TimeIsUpError):
            self._measure_links(open_links)
        links = fit_links(len(self._problem.devices), self._links.alone, self._links.splits)
        by_unit = [list(tasks) for _, tasks in groupby(self._layout.singles(), key=lambda task: task.units)]
        with suppress(TimeIsUpError):
            self._measure(by_unit, (1 - SINGLES_SHARE) * self._budget_s)
        pairs = self._layout.neighbours(self._times.without(links.alone_ms).units(self._layout))
        self._wanted.update(pairs)
        with suppress(TimeIsUpError):
            self._measure([[task] for task in pairs], 0.0)
        net = self._times.without(links.alone_ms)
        table = assemble(self._problem, self._layout, net, links, self._whole_ms)
        parts = self._parts()
        report = self._report(net, parts.seconds)
        reused = parts is self._known and bool(parts.times.ms)
        when = ", in an earlier run" if reused else ""
        text = f"{report.measured} parts timed, {report.estimated} estimated{when}"
        self._listener(Progress("profile", len(self._wanted), len(self._wanted), text))
        return Profile(table, report, parts, reused)

    def _left_s(self) -> float:
        return self._budget_s - (self._clock() - self._start)

    def _tell(self, text: str) -> None:
        done = len(self._wanted & self._times.ms.keys())
        self._listener(Progress("profile", done, len(self._wanted), text, phase_s=self._left_s()))

    def _measure_links(self, open_links: OpenLinks) -> None:
        if self._links.cuts == len(CUTS):
            return
        spec = MeasureSpec(1, blocks=3, repeats=3, min_time_ms=2.0, hopeless_ratio=NEVER_HOPELESS)
        with open_links(self._measurer.session) as (bench, pool):
            for cut in range(self._links.cuts, len(CUTS)):
                if self._left_s() < (1 - LINKS_SHARE) * self._budget_s:
                    break
                self._tell(f"cuts, {bench.pieces[CUTS[cut][0]].tensor_bytes} bytes")
                self._links = bench.measure(cut, partial(self._ask, pool), spec, self._links)
                self._keep(self._parts())

    def _ask(self, pool: Pool, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Measure candidates of the link model.

        Raises:
            TimeIsUpError: no time is left, or the request was lost with the last of it, which says nothing of them.
        """
        if self._left_s() > 0:
            measured = self._measurer.request(candidates, replace(spec, deadline_s=self._deadline_s()), pool)
            if self._left_s() > 0 or not was_lost(measured):
                return measured
        raise TimeIsUpError

    def _measure(self, bundles: Sequence[Sequence[PartTask]], reserve_s: float) -> None:
        """Time bundles of tasks, a few in a request, until `reserve_s` are left; the tasks of a bundle take turns."""
        waiting: list[PartTask] = []
        for everything in bundles:
            bundle = [task for task in everything if task not in self._times.ms]
            left_s = self._left_s() - reserve_s
            if waiting and self._expected_s([*waiting, *bundle]) > min(REQUEST_S, left_s / 2):
                self._request(waiting)
                waiting, left_s = [], self._left_s() - reserve_s
            if self._expected_s(bundle) < left_s:  # a later one may be short enough
                waiting += bundle
        if waiting:
            self._request(waiting)

    def _request(self, tasks: Sequence[PartTask]) -> None:
        self._tell(f"{len(tasks)} parts")
        for slow in (False, True):
            chosen = [task for task in tasks if (self._expected_ms(task) > SLOW_MS) == slow]
            if chosen and self._left_s() > 0:
                self._time(chosen, slow=slow)

    def _time(self, tasks: Sequence[PartTask], *, slow: bool) -> None:
        """Time parts in turns; if that is lost, one by one, so that a culprit fails alone, and not by chance."""
        measured, spent_ms = self._measured(tasks, slow=slow)
        if not was_lost(measured):
            self._note(tasks, measured, spent_ms)
            return
        for task in tasks:
            if self._left_s() > 0:
                self._note([task], *self._measured([task], slow=slow))

    def _measured(self, tasks: Sequence[PartTask], *, slow: bool) -> tuple[list[Measurement], float]:
        """Return a measurement of each part, and what all of them took in ms."""
        start = self._clock()
        measured = self._measurer.request([self._candidate(task) for task in tasks], self._spec(slow=slow))
        return measured, (self._clock() - start) * 1e3

    def _note(self, tasks: Sequence[PartTask], measured: Sequence[Measurement], spent_ms: float) -> None:
        for task, m in zip(tasks, measured, strict=True):
            if m.error != ErrorKind.TIMEOUT or self._left_s() > 0:
                self._times.ms[task] = _range(m)
            if m.error == ErrorKind.MEMORY:
                self._too_large.add(task)
        self._keep(self._parts())
        overhead_ms = max(0.0, spent_ms - sum(self._running_ms(m) for m in measured))
        compiling_ms = max(1.0, sum(m.compile_ms for m in measured))
        for task, m in zip(tasks, measured, strict=True):
            self._overhead_s[task.device].append(overhead_ms / 1e3 * m.compile_ms / compiling_ms)

    def _candidate(self, task: PartTask) -> Candidate:
        names = self._problem.device_names
        placement = Placement.uniform(len(self._problem.graph), names[task.device], names)
        return Candidate(f"part {task.units} on {names[task.device]}", placement, part=self._layout.part(task))

    def _spec(self, *, slow: bool) -> MeasureSpec:
        deadline_s = self._deadline_s()
        if slow:
            return MeasureSpec(0, blocks=1, repeats=1, min_time_ms=0.0, deadline_s=deadline_s)
        return MeasureSpec(
            warmup=1,
            blocks=self._config.blocks,
            repeats=self._config.repeats,
            min_time_ms=1.0,
            hopeless_ratio=4.0,
            deadline_s=deadline_s,
        )

    def _deadline_s(self) -> float:
        """Return how long a request that begins now may take."""
        return min(self._measurer.session.config.measure.deadline_s, self._left_s() + OVERRUN_S)

    def _runs(self, ms: float) -> int:
        """Return how many inferences timing a part takes."""
        return 2 if ms > SLOW_MS else 2 + self._config.blocks * (1 + self._config.repeats)

    def _running_ms(self, m: Measurement) -> float:
        return m.first_ms + self._runs(m.median_ms) * m.median_ms if m.ok else 0.0

    def _expected_ms(self, task: PartTask) -> float:
        known = [self._times.median(PartTask((unit,), task.device)) for unit in task.units]
        if all(np.isfinite(known)):
            return float(sum(known))
        weight, whole = self._layout.unit_weight, self._whole_ms[task.device]
        share = weight[list(task.units)].sum() / weight.sum()
        return float(2 * share * whole) if np.isfinite(whole) else 0.0

    def _expected_s(self, tasks: Sequence[PartTask]) -> float:
        total = 0.0
        for task in tasks:
            ms = self._expected_ms(task)
            total += float(np.mean(self._overhead_s[task.device][-20:])) + self._runs(ms) * ms / 1e3
        return total

    def _is_guessed(self, task: PartTask, ms: float) -> bool:
        return len(task.units) == 1 and not np.isfinite(ms) and bool(np.isfinite(self._whole_ms[task.device]))

    def _parts(self) -> TimedParts:
        """Return all that was measured, for later runs: what was known, where nothing was added."""
        known = self._known
        times = PartTimes({task: ms for task, ms in self._times.ms.items() if task not in self._too_large})
        if (self._links.cuts, len(times.ms)) == (known.links.cuts, len(known.times.ms)):
            return known
        return TimedParts(known.unit_of, times, self._links, known.seconds + self._clock() - self._start)

    def _report(self, net: PartTimes, seconds: float) -> ProfileReport:
        d, splits = len(self._problem.devices), self._links.splits
        ranges = [v for v in net.ms.values() if np.isfinite(v[1])]
        low, high = link_intervals(d, self._links.alone, splits)
        return ProfileReport(
            seconds=seconds,
            measured=len(ranges),
            failed=len(net.ms) - len(ranges),
            estimated=len(self._wanted - net.ms.keys()),
            guessed=sum(self._is_guessed(task, ms) for task, (_, ms, _) in net.ms.items()),
            units=len(self._layout.members),
            cuts=f"{len(splits)} of {len(CUTS) * d * (d - 1)}",
            spread=float(np.median([(top - bottom) / middle for bottom, middle, top in ranges])) if ranges else 0.0,
            link_interval={
                f.name: [getattr(low, f.name).tolist(), getattr(high, f.name).tolist()] for f in fields(Links)
            },
        )


def _range(m: Measurement) -> tuple[float, float, float]:
    if not m.ok:
        return (np.inf, np.inf, np.inf)
    return float(m.block_medians_ms.min()), m.median_ms, float(m.block_medians_ms.max())
