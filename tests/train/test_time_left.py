"""How long a training takes yet: its later phases count."""

from math import inf

import pytest

from ovplace.session.events import Progress
from ovplace.train.time_left import TimeLeft
from ovplace.train.training_plan import read_plan

PLAN = """
[train]
recipes = ["lstm"]
held_out_recipes = ["hyperbolic", "unet"]
machines = ["i9-12900k+flex170"]
held_out_machines = ["core-ultra"]
random_machines = 2
updates = 6
batch = 2
solver_s = 0.5
per_graph = {per_graph}
"""


@pytest.mark.parametrize(("per_graph", "later"), [(1, [inf, inf, 14.0, 4.0, 0.0]), (0, [inf, 10.0, 10.0, 0.0, 0.0])])
def test_the_phases_after_one_count(tmp_path, per_graph, later):
    """Three problems take 6 s, an update of two takes 2 s, and four held-out problems are left."""
    (tmp_path / "plan.toml").write_text(PLAN.format(per_graph=per_graph))
    steps = ((6.0, "problems", 1), (7.0, "train", 1), (11.0, "train", 3), (20.0, "solving", 1), (30.0, "evaluate", 1))
    told, ticks = [], iter([0.0, *(step[0] for step in steps)])
    listener = TimeLeft(read_plan(tmp_path / "plan.toml"), told.append, lambda: next(ticks))
    for _, phase, done in steps:
        listener(Progress(phase, done, 6))
    assert [event.later_s for event in told] == pytest.approx(later)
    assert [event.phase for event in told] == [phase for _, phase, _ in steps]
