"""What a right answer is worth to the version that a training fits."""

from __future__ import annotations

from collections.abc import Iterable

from apps.engine.usage import Price
from apps.pools.models import PlannerVersion
from apps.pools.selectors import planner_version
from apps.pools.types import PoolSnapshot
from apps.training.trainings.models import Training
from apps.training.trainings.newcomers import present_version
from apps.training.trainings.settings import TrainingPlan


def trained_worth(
    training: Training,
    plan: TrainingPlan,
    snapshot: PoolSnapshot,
    stored: bytes,
    prompts: Iterable[str],
) -> int | None:
    """Return the worth in micro-dollars for a fit; None: nobody can say.

    What was set counts first, then what the version has that this one follows. Else it
    follows from the prices of now and from `stored`, the fit, and does not move later.
    """
    if plan.answer_worth_micros is not None:
        return plan.answer_worth_micros
    before = _version_before(training, plan)
    if before is not None and before.answer_worth_micros is not None:
        return before.answer_worth_micros
    # Brings NumPy with it, which a process without light planners does not need.
    from apps.planners.light.model import LightModel
    from apps.planners.light.usual_worth import usual_worth

    prices = {
        worker.name: Price(worker.price.input_micros, worker.price.output_micros)
        for worker in snapshot.chat_workers
        if worker.price is not None
    }
    return usual_worth(LightModel.from_bytes(stored), prices, prompts)


def _version_before(training: Training, plan: TrainingPlan) -> PlannerVersion | None:
    """Return the training's first fit, or the version that gets to know a newcomer."""
    if training.version is not None:
        return planner_version(training.pool, training.version)
    return present_version(training.pool) if plan.newcomer else None
