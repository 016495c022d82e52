"""What a new conductor has to beat on held-out tasks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.trainings.settings import gate_systems

Values = dict[str, Any]


def conductor_gate_systems(
    plan: ConductorTrainingPlan,
    *,
    conductor: str,
    rounds: int,
    present: str | None,
    planner_number: int,
    planner_in_use: int | None,
    best: str,
    workers: Sequence[str],
    max_steps: int,
) -> list[Values]:
    """Return what is compared, the new conductor first.

    `rounds` is how many plans of a run it may make; `present` the conductor that plans
    for the pool, if any; `planner_number` the light planner that the new one learned
    from, and `planner_in_use` the pool's. The rest is as for `gate_systems`.
    """
    tier = {"kind": "tier", "tier": plan.tier}
    systems: list[Values] = [{**tier, "conductor": conductor, "max_rounds": rounds}]
    if present is not None and present != conductor:
        systems.append({**tier, "conductor": present})
    return [
        *systems,
        *gate_systems(
            plan.answer_worth_micros,
            version=planner_number,
            present=planner_in_use,
            best=best,
            workers=workers,
            max_steps=max_steps,
        ),
    ]
