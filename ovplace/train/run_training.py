"""A complete training: problems, updates, policy file, and evaluation."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.errors import ConfigError, InterruptedRunError
from ovplace.learning.policy_file import PolicyFile
from ovplace.plugins.protocols import Trainer
from ovplace.session.events import Listener, Progress
from ovplace.train.evaluation import evaluate, summary_rows
from ovplace.train.policy_lock import training_of
from ovplace.train.random_machines import random_machines
from ovplace.train.time_left import TimeLeft
from ovplace.train.training_loop import TrainingSet, run_training_loop
from ovplace.train.training_plan import TrainingPlan
from ovplace.train.training_problems import TrainingProblem, training_problems
from ovplace.version import __version__

TRAINED = "training graphs"
"""Name of the set of problems that the policy was trained on."""


def run_training(plan: TrainingPlan, output: Path, listener: Listener) -> dict[str, Any]:
    """Train a policy, write it, and evaluate it.

    Args:
        plan: the training.
        output: path of the policy file; the state file is written beside it until the training has finished.
        listener: receives the progress.

    Returns:
        The output of `ovplace train --json`.

    Raises:
        OvplaceError: no machine can run a model, a file cannot be written, or another process trains that policy.
        InterruptedRunError: Ctrl-C was pressed; the same call continues.
        KeyboardInterrupt: it was pressed before there was anything to continue.
    """
    from ovplace.learning.one_thread import one_thread_of_torch  # reading a plan says what torch is missing for

    state_file = output.with_name(f"{output.name}.state")
    with training_of(output), one_thread_of_torch():
        try:
            return _trained(plan, output, state_file, TimeLeft(plan, listener))
        except KeyboardInterrupt as error:
            if not state_file.exists():
                raise
            raise InterruptedRunError(f"stopped; the same command goes on from '{state_file}'") from error


def _trained(plan: TrainingPlan, output: Path, state_file: Path, listener: Listener) -> dict[str, Any]:
    found = _training_problems(plan, listener)
    first = next(found, None)
    if first is None:
        raise ConfigError("no machine of the training can run any of its models; give others")
    n_features = first.problem.features.shape[1]
    assert plan.placer.trainer is not None, "checked by the plan"
    trainer = plan.placer.trainer(plan.settings, n_features, plan.config.seed)  # refuses before all are solved
    training = [first, *found]
    problems = TrainingSet(
        mixed=[each.problem for each in training if each.mixed],
        plain=[each.problem for each in training if not each.mixed],
    )
    run_training_loop(trainer, problems, plan, state_file, listener)
    _policy(plan, trainer, n_features).write(output)
    sets = _scored(plan, trainer, training, listener)
    state_file.unlink(missing_ok=True)
    return {
        "schema": 1,
        "policy": str(output),
        "bytes": output.stat().st_size,
        "placer": plan.config.placer,
        "problems": len(training),
        "mixed": len(problems.mixed),
        "updates": plan.config.updates,
        "sets": sets,
    }


def _scored(
    plan: TrainingPlan, trainer: Trainer, training: Sequence[TrainingProblem], listener: Listener
) -> list[dict[str, Any]]:
    """Return how good the policy is on what it was trained on, without random machines, and on what it was not."""
    named = {machine.name for machine in plan.machines}
    sets = {TRAINED: [each for each in training if each.machine in named], **held_out_problems(plan, listener)}
    return summary_rows(evaluate(trainer, sets, plan.config, listener))


def _policy(plan: TrainingPlan, trainer: Trainer, n_features: int) -> PolicyFile:
    return PolicyFile.from_network(
        trainer.network, plan.config.placer, trainer.settings, plan.config.features, n_features, _provenance(plan)
    )


def _training_problems(plan: TrainingPlan, listener: Listener) -> Iterator[TrainingProblem]:
    """Yield the problems to train on, solved without the slow mixed-integer program."""
    machines = (*plan.machines, *random_machines(plan.machines, plan.config.seed, plan.config.random_machines))
    for number, model in enumerate(plan.models, start=1):
        yield from training_problems(model, machines, plan.config.features, plan.config.seed, 0.0)
        listener(Progress("problems", number, len(plan.models), model.label))


def held_out_problems(plan: TrainingPlan, listener: Listener) -> dict[str, list[TrainingProblem]]:
    """Return held-out models on the machines of the training, and all held-out models on each held-out machine.

    Args:
        plan: the training.
        listener: receives the progress.

    Returns:
        Problems by the name of their set.

    Raises:
        OvplaceError: a model cannot be built, or no machine can run it.
    """
    config, sets = plan.config, {}
    settings = config.features, config.seed, config.solver_s
    total = len(plan.held_out) + len(plan.held_out_machines)
    models = [model for of in plan.held_out.values() for model in of]
    for name, of in plan.held_out.items():
        sets[name] = [each for model in of for each in training_problems(model, plan.machines, *settings)]
        listener(Progress("solving", len(sets), total, name))
    for machine in plan.held_out_machines:
        name = f"held-out machine {machine.name}"
        sets[name] = [
            each for model in models or plan.models for each in training_problems(model, [machine], *settings)
        ]
        listener(Progress("solving", len(sets), total, name))
    return sets


def _provenance(plan: TrainingPlan) -> Mapping[str, object]:
    """Return the origin of the policy, independent of the time of training."""
    return {
        "config": plan.text,
        "seed": plan.config.seed,
        "graphs": [model.label for model in plan.models],
        "machines": [f"{machine.name} {machine.digest}".strip() for machine in plan.machines],
        "random_machines": plan.config.random_machines,
        "versions": {
            "ovplace": __version__, "torch": version("torch"), "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }  # fmt: skip
