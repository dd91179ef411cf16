"""Rewards of an episode's steps, their discounted sums, and advantages over a baseline.

Source: Placeto, arXiv 1906.08879, section 3.1, and its published code. The logarithm and the normalisation of
advantages are not published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.optimiser import linear_schedule

REWARDS = ("difference", "log")


@dataclass(frozen=True)
class LearningSettings:
    """Settings of rewards, advantages and the optimiser.

    Attributes:
        reward: objective to decrease: `difference` is the latency divided by the best single device's, `log` its
            logarithm.
        final: give the whole reward at the last step instead of at each.
        discount: discount factor of later rewards.
        window: batches of episodes over which the baseline of a step is averaged.
        normalise: divide advantages by their standard deviation.
        entropy: initial weight of the devices' entropy.
        entropy_end: weight of the devices' entropy after `anneal` updates.
        learning_rate: initial learning rate of Adam; 0, with `learning_rate_end`, learns nothing.
        learning_rate_end: learning rate after `anneal` updates.
        anneal: updates over which entropy weight and learning rate change.
        max_grad_norm: gradients with a larger norm are scaled to this one; 0 for no limit.
        summed: gradients of an episode's steps are summed, as published; otherwise averaged.
    """

    reward: str = "log"
    final: bool = False
    discount: float = 1.0
    window: int = 10
    normalise: bool = True
    entropy: float = 0.1
    entropy_end: float = 0.01
    learning_rate: float = 1e-3
    learning_rate_end: float = 1e-4
    anneal: int = 200
    max_grad_norm: float = 1.25
    summed: bool = False

    def entropy_at(self, update: int) -> float:
        """Return the weight of the entropy after a number of updates."""
        return linear_schedule(self.entropy, self.entropy_end, update, self.anneal)

    def learning_rate_at(self, update: int) -> float:
        """Return the learning rate after a number of updates."""
        return linear_schedule(self.learning_rate, self.learning_rate_end, update, self.anneal)

    def advantages(self, relative: FloatArray, marks: IntArray, history: list[list[float]]) -> FloatArray:
        """Return the difference of each step's return from its baseline, `[T, B]`.

        Args:
            relative: latency of the evaluated placements divided by that of the best single device, `[C, B]`.
            marks: number of steps before each evaluation, `[C]`.
            history: mean returns of earlier batches; those of this one are appended.
        """
        objective = np.log(np.maximum(relative, 1e-12)) if self.reward == "log" else relative
        gained = returns(episode_rewards(objective, marks, self.final), self.discount)
        advantage = gained - step_baseline(history, gained, self.window)[:, None]
        return np.asarray(advantage / (advantage.std() + 1e-4) if self.normalise else advantage)


def episode_rewards(objective: FloatArray, marks: IntArray, final: bool) -> FloatArray:
    """Return the reward of each step: the decrease of the objective, `[T, B]`.

    Source: Placeto, section 3.1, intermediate rewards and the terminal one.

    Args:
        objective: latency, or its logarithm, of the evaluated placements, `[C, B]`.
        marks: number of steps before each evaluation, `[C]`.
        final: give the whole reward at the last step.
    """
    found = np.zeros((int(marks[-1]), objective.shape[1]))
    if final:
        found[-1] = objective[0] - objective[-1]
    else:
        found[marks[1:] - 1] = objective[:-1] - objective[1:]
    return found


def returns(reward: FloatArray, discount: float) -> FloatArray:
    """Return the discounted sum of the rewards from each step on, `[T, B]`.

    Args:
        reward: reward of each step, `[T, B]`.
        discount: factor per step, 0 to 1.
    """
    found = reward.copy()
    for step in range(len(found) - 2, -1, -1):
        found[step] += discount * found[step + 1]
    return found


def step_baseline(history: list[list[float]], new: FloatArray, window: int) -> FloatArray:
    """Return the mean return at each step over the last batches of episodes, including the new one, `[T]`.

    Source: Placeto, published code: a baseline for each step, averaged over the workers.

    Args:
        history: mean returns of earlier batches, `[T]` each; the new one is appended, and the oldest dropped.
        new: returns of the present batch, `[T, B]`.
        window: number of batches in the mean.
    """
    history.append(new.mean(axis=1).tolist())
    del history[:-window]
    return np.asarray(np.mean(history, axis=0))
