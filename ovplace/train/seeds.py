"""The same training with several seeds, here or on the machines of a fleet, of which the best policy is kept."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol

from ovplace.atomic import replacing, write_json
from ovplace.core.text.json_text import parse_json
from ovplace.core.text.plural import plural
from ovplace.errors import BackendError, ConfigError, InterruptedRunError, StoreError
from ovplace.session.events import Listener, Progress
from ovplace.session.fingerprint import fingerprint
from ovplace.train.policy_lock import training_of
from ovplace.train.run_training import TRAINED
from ovplace.train.training_plan import TrainingPlan
from ovplace.train.training_state import other_training

Data = dict[str, Any]

VERSION = 1
"""Version of the file of a finished training."""

_NO_REPORT = (ValueError, LookupError, TypeError)


class TrainingSite(Protocol):
    """Where trainings run."""

    @property
    def jobs(self) -> int:
        """Trainings at the same time."""

    def train(self, plan: TrainingPlan, output: Path) -> Data:
        """Write the policy and return what `run_training` returns.

        Args:
            plan: the training.
            output: path of the policy file.

        Raises:
            OvplaceError: as `run_training` does.
        """

    def stop(self) -> None:
        """Let all calls of `train` end."""


def train_seeds(plans: Sequence[TrainingPlan], output: Path, site: TrainingSite, listener: Listener) -> Data:
    """Train with each seed that is not finished, and keep the policy that places the training graphs best.

    Held-out models are not used to choose, so that the scores on them remain those of unseen models.

    Args:
        plans: the training, with a seed each.
        output: path of the policy file; each seed has files in a folder beside it.
        site: where to train.
        listener: receives each training that is finished.

    Returns:
        The output of `ovplace train --seeds --json`: that of the chosen seed, `seed`, and under `seeds` the scores of
        each.

    Raises:
        OvplaceError: as `run_training` does, or a folder holds other trainings.
        InterruptedRunError: Ctrl-C was pressed; the same call continues.
    """
    with training_of(output):
        reports = _reports(plans, output.with_name(f"{output.stem}-seeds"), site, listener)
        best = min(reports, key=lambda seed: _score(reports[seed]))
        _copy(Path(reports[best]["policy"]), output)
    return {
        **reports[best],
        "policy": str(output),
        "seed": best,
        "seeds": [{"seed": seed, "sets": report["sets"]} for seed, report in reports.items()],
    }


def _reports(plans: Sequence[TrainingPlan], folder: Path, site: TrainingSite, listener: Listener) -> dict[int, Data]:
    """Return the report of each seed; those that are finished are read."""
    found = {plan.config.seed: _finished(plan, folder) for plan in plans}
    executor = ThreadPoolExecutor(site.jobs)
    try:
        pending = {
            executor.submit(_train, plan, folder, site): plan.config.seed
            for plan in plans
            if not found[plan.config.seed]
        }
        done = len(plans) - len(pending)
        listener(Progress("seeds", done, len(plans), f"{done} of {len(plans)} are finished already"))
        for number, future in enumerate(as_completed(pending), start=done + 1):
            seed = pending[future]
            found[seed] = future.result()
            listener(Progress("seeds", number, len(plans), f"seed {seed}: {_in_words(found[seed])}"))
    except KeyboardInterrupt as error:
        raise _interrupted(pending, folder) from error
    finally:
        site.stop()
        executor.shutdown(cancel_futures=True)
    return found


def _train(plan: TrainingPlan, folder: Path, site: TrainingSite) -> Data:
    policy = folder / f"{plan.config.seed}.npz"
    answer = site.train(plan, policy)
    try:
        report = {**answer, "policy": str(policy)}
        _score(report)
    except _NO_REPORT as error:
        raise BackendError(f"the training with seed {plan.config.seed} ended without a report; try again") from error
    about = {"version": VERSION, "plan": plan.text, "machines": plan.machine_digests}
    kept = {**about, "report": report, "digest": fingerprint(policy)}
    write_json(policy.with_suffix(".json"), kept)
    return report


def _finished(plan: TrainingPlan, folder: Path) -> Data:
    """Return the report of a finished training; empty if it is not finished, or its policy is lost or damaged.

    Raises:
        ConfigError: the file is of another training, or damaged.
    """
    file = folder / f"{plan.config.seed}.json"
    try:
        data = parse_json(file.read_text(encoding="utf-8"))
        machines = list(plan.machine_digests)
        # Earlier versions kept no machines.
        if (data["version"], data["plan"], data.get("machines", machines)) != (VERSION, plan.text, machines):
            raise other_training(file)
        policy = file.with_suffix(".npz")
        report: Data = {**data["report"], "policy": str(policy)}
        _score(report)
        # Earlier versions kept no digest.
        is_whole = policy.is_file() and data.get("digest") in (None, fingerprint(policy))
    except FileNotFoundError:
        return {}
    except (OSError, *_NO_REPORT) as error:
        raise ConfigError(f"'{file}' is damaged; delete it to train with this seed again") from error
    return report if is_whole else {}


def _score(report: Mapping[str, Any]) -> tuple[float, ...]:
    """Return what to choose by, the less the better: 90th percentile, median and maximum on the training graphs."""
    scores = {row["set"]: row["zero_shot"] for row in report["sets"]}[TRAINED]
    return tuple(float("inf") if scores[key] is None else float(scores[key]) for key in ("p90", "median", "worst"))


def _in_words(report: Mapping[str, Any]) -> str:
    p90, median, _ = _score(report)
    return f"{median:.3f} of the best known latency on the training graphs, 90th percentile {p90:.3f}"


def _interrupted(pending: Mapping[Future[Data], int], folder: Path) -> InterruptedRunError:
    left = sum(not future.done() for future in pending)
    return InterruptedRunError(f"stopped with {plural(left, 'training')} left, the same command goes on in '{folder}'")


def _copy(policy: Path, output: Path) -> None:
    try:
        with replacing(output) as temporary:
            shutil.copyfile(policy, temporary)
    except OSError as error:
        raise StoreError(f"cannot write '{output}': {error.strerror}; choose another file with -o") from error
