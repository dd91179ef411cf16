"""The costs of a model's parts on the devices of a run: from the backend, from an earlier profile, or measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ovplace.atomic import temporary_folder
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Job
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.pool import Pool
from ovplace.profiling.links import PIECES, LinkBench
from ovplace.profiling.parts import Keep, OpenLinks, Profile, Profiler
from ovplace.profiling.timed_parts import TimedParts
from ovplace.session.baselines import Baseline
from ovplace.session.events import Listener
from ovplace.session.measurer import Measurer
from ovplace.session.session import Session
from ovplace.store.run_db import RunStore, cache_key
from ovplace.store.run_folder import LINKS

_TABLE, _ABOUT = "costs", "costs_about"  # in the run's store
_TIMED = "timed_parts"  # there, too, until the costs are: what was measured for them, by what the profile depends on


@dataclass(frozen=True, eq=False)
class Costs:
    """A cost table with its origin, as the result reports it.

    Attributes:
        table: the costs.
        about: source, number of measured parts, whether the profile is of an earlier run.
    """

    table: CostTable
    about: Mapping[str, Any]


@contextmanager
def link_bench(session: Session) -> Iterator[tuple[LinkBench, Pool]]:
    """Yield the link model on the session's devices, with a pool that measures it."""
    from ovplace.ir.parts.link_model import save_link_model

    search = session.config.search
    with temporary_folder(session.folder.path, LINKS) as folder:
        path, names = folder / "links.xml", session.problem.device_names
        bench = LinkBench(*save_link_model(path, PIECES), devices=names, staged=session.runs_stages)
        job = Job(str(path), session.devices, seed=search.seed, options=session.config.plugins.backend.options)
        with closing(session.site.open_pool(WorkerSpec(search.backend, job))) as pool:
            yield bench, pool


def profile_costs(
    measurer: Measurer,
    baselines: Sequence[Baseline],
    listener: Listener,
    budget_s: float,
    open_links: OpenLinks = link_bench,
    known: TimedParts | None = None,
    keep: Keep = lambda _: None,
) -> Profile:
    """Time cuts, then each group on each device, then pairs of neighbours, and assemble the costs.

    Args:
        measurer: the run's measurer.
        baselines: measured already; the single devices' latencies calibrate the sum of the parts.
        listener: is called with each step.
        budget_s: seconds for all of it. What is not measured then is estimated.
        open_links: opens the link model.
        known: what an earlier call has measured of this model.
        keep: is called with all that was measured, whenever there is more of it.

    Raises:
        BackendError: the measuring process cannot be started.
    """
    by_name = {baseline.name: baseline.measurement.median_ms for baseline in baselines}
    names = measurer.session.problem.device_names
    whole_ms = np.array([by_name.get(name, np.inf) for name in names])
    return Profiler(measurer, whole_ms, listener, budget_s, known, keep).run(open_links)


def obtain_costs(
    measurer: Measurer, baselines: Sequence[Baseline], listener: Listener, open_links: OpenLinks = link_bench
) -> Costs:
    """Return the costs of the run's problem, and keep them in the run's store.

    A continued run takes those it began with, unless it has an answer already and now the time to complete them; a
    backend that knows the costs is asked; else they come from an earlier run's profile, or are measured. A run that is
    stopped meanwhile goes on with what it has measured.

    Args:
        measurer: the run's measurer.
        baselines: measured already.
        listener: is called with each step.
        open_links: opens the link model.

    Raises:
        OvplaceError: the measuring process cannot be started.
    """
    session = measurer.session
    found = kept_costs(measurer)
    if found is None or _may_be_completed(found, measurer):
        if session.config.plugins.backend.factory.knows_costs:
            table = session.pool.ask("costs", session.problem.partition)
            found = Costs(table, {"source": table.source})
        else:
            found = _profiled(measurer, baselines, listener, open_links)
        measurer.store.put(_ABOUT, dict(found.about))
        measurer.store.put(_TABLE, found.table.to_dict())
        measurer.store.put(_TIMED, None)
    return found


def kept_costs(measurer: Measurer) -> Costs | None:
    """Return the costs that earlier calls of the run have kept; None for none, or for damaged ones."""
    found = _stored(measurer.store)
    return found if found and _fits(found.table, measurer.session) else None


def stored_costs(store: RunStore) -> CostTable | None:
    """Return the cost table of a run, None where it needed none."""
    found = _stored(store)
    return found.table if found else None


def _may_be_completed(found: Costs, measurer: Measurer) -> bool:
    """Return whether parts are to be timed for which an earlier call had no time.

    Only once the run has an answer: one that was stopped goes on asking what it would have asked.
    """
    return bool(found.about.get("estimated")) and measurer.session.folder.result.exists()


def _budget_s(measurer: Measurer) -> float:
    return min(measurer.session.config.profiling.budget_s, measurer.deadline.left_s)


def _stored(store: RunStore) -> Costs | None:
    table, about = store.get(_TABLE), store.get(_ABOUT) or {}
    if not (isinstance(table, Mapping) and isinstance(about, Mapping)):
        return None
    try:
        return Costs(CostTable.from_dict(table), about)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError):  # damaged
        return None


def _fits(table: CostTable, session: Session) -> bool:
    problem = session.problem
    shapes = table.group_ms.shape, table.edges.shape
    return shapes == ((problem.n_groups, len(problem.devices)), problem.quotient.edges.shape)


def _profiled(measurer: Measurer, baselines: Sequence[Baseline], listener: Listener, open_links: OpenLinks) -> Costs:
    """Return the costs by the parts that earlier runs have timed, and by those that are timed now."""
    session, key = measurer.session, _key(measurer.session)
    reuse = session.config.profiling.reuse
    cached = TimedParts.find(key, session.problem) if reuse else None
    known = _timed(measurer, key) or cached
    profile = profile_costs(
        measurer,
        baselines,
        listener,
        _budget_s(measurer),
        open_links,
        known,
        keep=lambda parts: measurer.store.put(_TIMED, {key: parts.to_dict()}),
    )
    if reuse and profile.parts is not cached:
        beside = TimedParts.find(key, session.problem)  # another run may have kept some meanwhile
        profile.parts.with_those_of(beside).keep(key)
    about = {"source": profile.table.source, "reused": profile.reused}
    return Costs(profile.table, about | asdict(profile.report))


def _timed(measurer: Measurer, key: str) -> TimedParts | None:
    """Return what a call of the run that was stopped while it profiled has measured; None for nothing."""
    kept = measurer.store.get(_TIMED)
    return TimedParts.restored(kept.get(key), measurer.session.problem) if isinstance(kept, Mapping) else None


def _key(session: Session) -> str:
    """Return what a profile depends on: model, groups, devices, drivers, versions, inputs, how parts are timed.

    The deadline is part of it, as it decides which parts are lost.
    """
    config, deadline_s = session.config.profiling, session.config.measure.deadline_s
    return cache_key(
        session.graph.content_hash,
        session.problem.partition.group_of.tolist(),
        session.problem.allowed.tolist(),
        [device.to_dict() for device in session.devices],
        session.facts,
        session.input_id,
        [config.repeats, config.blocks, session.runs_stages, deadline_s],
        session.config.plugins.backend.options,
    )
