"""What any training of a planner needs: tasks that can be graded, and known prices."""

from __future__ import annotations

from apps.core.errors import InvalidInput
from apps.evaluation.models import SuiteVersion
from apps.evaluation.services import require_sandbox
from apps.pools.types import PoolSnapshot


def require_trainable(
    snapshot: PoolSnapshot, suite_version: SuiteVersion, *, needs_prices: bool
) -> None:
    """Raise InvalidInput if a pool cannot be trained for on a suite.

    `needs_prices`: the training has a cost limit.
    """
    rows = suite_version.tasks
    for split, words in (("training", "to train on"), ("held_out", "to measure on")):
        if not rows.filter(split=split).exists():
            raise InvalidInput(
                f"suite {suite_version.suite.name!r} has no tasks {words} (split "
                f"{split!r})",
                param="suite",
            )
    if rows.filter(needs_grader=True).exists():
        raise InvalidInput(
            "tasks of this suite have a rubric: training needs answers that can be "
            "graded without a model",
            param="suite",
        )
    unpriced = [w.name for w in snapshot.chat_workers if w.price is None]
    if needs_prices and unpriced:
        raise InvalidInput(
            f"with a cost limit every worker needs a price; {unpriced[0]!r} has none",
            param="max_cost_micros",
        )
    require_sandbox(suite_version)
