"""A whole training: problems, updates, the policy file, and what the policy is worth."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ovplace.errors import ConfigError
from ovplace.learning.policy_file import PolicyFile
from ovplace.session.events import Listener, Progress
from ovplace.train.cases import Case, cases
from ovplace.train.judge import judge, summary
from ovplace.train.learn import Lessons, learn
from ovplace.train.plan import Plan
from ovplace.train.random_machines import invented
from ovplace.version import __version__

TRAINED = "training graphs"


def train(plan: Plan, output: Path, listener: Listener) -> dict[str, Any]:
    """Train a policy, write it to `output`, and judge it; return what `ovplace train --json` prints.

    Raises:
        OvplaceError: with its own text.
        InterruptedRunError: Ctrl-C; the same call goes on.
    """
    found = _lessons(plan, listener)
    first = next(found, None)
    if first is None:
        raise ConfigError("no machine of the training can run any of its models; give others")
    n_features = first.problem.features.shape[1]
    assert plan.placer.trainer is not None, "checked by the plan"
    trainer = plan.placer.trainer(plan.settings, n_features, plan.config.seed)
    taught = [first, *found]
    lessons = Lessons(
        [case.problem for case in taught if case.mixed], [case.problem for case in taught if not case.mixed]
    )
    state = output.with_name(f"{output.name}.state")
    learn(trainer, lessons, plan, state, listener)
    policy = PolicyFile.from_network(
        trainer.network, plan.config.placer, trainer.settings, plan.config.features, n_features, _provenance(plan)
    )
    policy.write(output)
    known = {machine.name for machine in plan.machines}
    sets = {TRAINED: [case for case in taught if case.machine in known], **_held_out(plan, listener)}
    scores = judge(trainer, sets, plan.config, listener)
    state.unlink(missing_ok=True)
    return {
        "schema": 1,
        "policy": str(output),
        "bytes": output.stat().st_size,
        "placer": plan.config.placer,
        "problems": len(taught),
        "mixed": len(lessons.mixed),
        "updates": plan.config.updates,
        "sets": summary(scores),
    }


def _lessons(plan: Plan, listener: Listener) -> Iterator[Case]:
    """Yield what there is to train on, judged by the fast solvers alone: there is much of it."""
    machines = (*plan.machines, *invented(plan.machines, plan.config.seed, plan.config.invented))
    for number, graph in enumerate(plan.graphs, start=1):
        yield from cases(graph, machines, plan.config.features, plan.config.seed, 0.0)
        listener(Progress("problems", number, len(plan.graphs), graph.label))


def _held_out(plan: Plan, listener: Listener) -> dict[str, list[Case]]:
    """Return held-out models on the machines of the training, and all of these on each held-out machine."""
    config, sets = plan.config, {}
    settings = config.features, config.seed, config.solver_s
    total = len(plan.held_out) + len(plan.held_out_machines)
    graphs = [graph for of in plan.held_out.values() for graph in of]
    for name, of in plan.held_out.items():
        sets[name] = [case for graph in of for case in cases(graph, plan.machines, *settings)]
        listener(Progress("solving", len(sets), total, name))
    for machine in plan.held_out_machines:
        name = f"held-out machine {machine.name}"
        sets[name] = [case for graph in graphs or plan.graphs for case in cases(graph, [machine], *settings)]
        listener(Progress("solving", len(sets), total, name))
    return sets


def _provenance(plan: Plan) -> Mapping[str, object]:
    """Return what the policy was made from; nothing of it depends on when."""
    return {
        "config": plan.text,
        "seed": plan.config.seed,
        "graphs": [graph.label for graph in plan.graphs],
        "machines": [f"{machine.name} {machine.digest}".strip() for machine in plan.machines],
        "invented": plan.config.invented,
        "versions": {
            "ovplace": __version__, "torch": str(torch.__version__), "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }  # fmt: skip
