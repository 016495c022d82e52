"""Says when reinforcement makes a conductor worse. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from apps.training.conductor.training_folder import GrpoJob


@dataclass(frozen=True, slots=True)
class Iteration:
    """What was seen of one iteration."""

    reward: float | None
    """Mean; None if every reward was missing."""
    entropy: float
    """Nats a token."""


def collapse_message(seen: Sequence[Iteration], job: GrpoJob) -> str | None:
    """Return how the training collapsed, or None if it did not.

    `seen` are all iterations so far. Low entropy: sampling gives the same plan each
    time, so that no plan is better than another. Fallen reward: it got worse.
    """
    last = seen[-job.patience :]
    if len(last) < job.patience:
        return None
    if job.entropy_floor and all(each.entropy < job.entropy_floor for each in last):
        return (
            f"The entropy was below {job.entropy_floor:g} nats a token for "
            f"{job.patience} iterations: it samples the same plans again and again."
        )
    first = _mean_reward(seen[: job.patience])
    now = _mean_reward(last)
    if first is None or now is None or len(seen) < 2 * job.patience:
        return None
    if now < first - job.reward_fall:
        return (
            f"The mean reward of {job.patience} iterations fell from {first:.3f} to "
            f"{now:.3f}."
        )
    return None


def _mean_reward(seen: Sequence[Iteration]) -> float | None:
    known = [each.reward for each in seen if each.reward is not None]
    return fmean(known) if known else None
