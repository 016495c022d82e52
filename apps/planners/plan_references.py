"""Turns the numbers a conductor writes into workers' names and earlier steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apps.engine.errors import PlanFault, PlanRejected

MAX_STEPS_READ = 64
"""Far above any limit of a run; keeps "all" from growing with the square of a reply."""


def check_count(count: int) -> None:
    """Raise PlanRejected (too many steps) before a huge plan costs memory."""
    if count > MAX_STEPS_READ:
        raise PlanRejected(
            PlanFault.TOO_MANY_STEPS, f"the plan has {count} steps, far too many"
        )


def worker_name(step: int, number: int | None, workers: Sequence[str]) -> str:
    """Return the name behind a model number; None stands for no number at all.

    Raises: PlanRejected (unknown worker).
    """
    if number is None or not 0 <= number < len(workers):
        # The number itself stays out of the message: it may have any length.
        raise PlanRejected(
            PlanFault.UNKNOWN_WORKER,
            f"step {step} names no model of the pool; "
            f"expected a number from 0 to {len(workers) - 1}",
        )
    return workers[number]


def earlier_steps(step: int, numbers: Iterable[int]) -> tuple[int, ...]:
    """Return the access list `numbers` of a step: ascending, without repetitions.

    Raises: PlanRejected (bad access, forward reference).
    """
    access = tuple(sorted(set(numbers)))
    if access and access[0] < 0:
        raise bad_access(step)
    if access and access[-1] >= step:
        raise PlanRejected(
            PlanFault.FORWARD_REFERENCE,
            f"step {step} reads itself or a later step; only earlier steps can be read",
        )
    return access


def all_earlier(step: int) -> tuple[int, ...]:
    """Return the access list that "all" stands for."""
    return tuple(range(step))


def bad_access(step: int) -> PlanRejected:
    """Return the error for an access entry that means nothing."""
    return PlanRejected(
        PlanFault.BAD_ACCESS,
        f'step {step} has no proper access entry; expected [], "all" or a list of '
        "indices of earlier steps",
    )
