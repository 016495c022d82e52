"""What a training is to do, as a document, and the evaluations that it takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart
from apps.planners.answer_worth import MOST_MICROS
from apps.planners.light.exploring import NEAR_BEST

MAX_PLANS = 50
"""Of one task, in one exploration."""
REFLECTIONS = 5
"""Calls of self-reflection, which a planner has to beat."""
PROBES, TRIALS = 48, 48
"""Runs that find out what a newcomer can do: its roles in turn, then whole plans."""
PROPOSERS = 4
"""Workers of a Mixture-of-Agents beside the best one, which aggregates."""
TierWord = Literal["mini", "ultra"]
Values = dict[str, Any]


class TrainingPlan(InputPart):
    """The settings of one training; recorded, and never changed afterwards."""

    explore_runs: Annotated[int, Field(ge=0, le=20_000)] = 800
    """Plans by chance. 0: learn from what is logged already."""
    near_best_runs: Annotated[int, Field(ge=0, le=20_000)] = 800
    """Plans that the first fit thinks well of. 0: there is one fit."""
    held_out_tasks: Annotated[int, Field(ge=10, le=2_000)] = 120
    """Tasks of the comparison, drawn equally from each family."""
    parallel_runs: Annotated[int, Field(ge=1, le=64)] = 48
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    answer_worth_micros: Annotated[int, Field(ge=1, le=MOST_MICROS)] | None = None
    """What a right answer is worth to the version, and so to tiers that do not say.
    None: 25 answers of the dearest worker at the prices of the first fit; a training
    for a newcomer goes on with what the version in use has."""
    margin_percent: Annotated[int, Field(ge=0, le=50)] = 5
    """Accuracy, in points of a hundred, that it may be short of the best of the others
    at most, if it costs half or less."""
    tiers: tuple[TierWord, ...] = ()
    """Tiers that plan with it at once if it is better. Empty: a person decides."""
    max_cost_micros: Annotated[int, Field(ge=1)] | None = None
    """What all runs may cost together, in micro-dollars. None: no limit."""
    newcomer: Annotated[str, Field(max_length=64)] = ""
    """A worker that all explored runs are about: first probes of its roles, then plans
    that it has a part in. Empty: all workers take part."""
    embeddings: Annotated[str, Field(max_length=64)] = ""
    """An embedding worker of the pool, whose vectors tell kinds of prompts apart.
    Empty: hashed n-grams do; a training for a newcomer goes on with what the version
    in use has."""
    from_profiles: bool = False
    """True: nothing is explored. The version is the site's default with the workers'
    profiles."""

    @model_validator(mode="before")
    @classmethod
    def _usual_runs(cls, values: Any) -> Any:
        """Fill in how much is run for a newcomer, or for profiles."""
        if not isinstance(values, dict):
            return values
        if values.get("from_profiles"):
            return {"explore_runs": 0, "near_best_runs": 0, **values}
        if values.get("newcomer"):
            return {"explore_runs": PROBES, "near_best_runs": TRIALS, **values}
        return values

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.from_profiles and (
            self.newcomer or self.explore_runs or self.near_best_runs
        ):
            raise PydanticCustomError(
                "from_profiles",
                "with from_profiles nothing is explored, and no newcomer is probed",
            )
        if self.from_profiles and self.embeddings:
            raise PydanticCustomError(
                "embeddings", "with from_profiles no prompts are embedded"
            )
        if self.newcomer and not self.explore_runs:
            raise PydanticCustomError("newcomer", "a newcomer needs probes")
        return self

    def values(self) -> Values:
        """Return the settings as JSON values."""
        return self.model_dump(mode="json")


def plans_of_tasks(runs: int, tasks: int) -> tuple[int, int]:
    """Return how many plans each task gets, and how many tasks, for so many runs."""
    plans = max(1, min(MAX_PLANS, -(-runs // max(1, tasks))))
    return plans, max(1, min(tasks, -(-runs // plans)))


def exploration_systems(plans: int) -> list[Values]:
    """Return the systems of the first exploration."""
    return [{"kind": "exploration", "plan": number + 1} for number in range(plans)]


def near_best_systems(plans: int, version: int, worth: int | None) -> list[Values]:
    """Return the systems of the second exploration."""
    return [
        {
            "kind": "light_planner",
            "version": version,
            "answer_worth_micros": worth,
            "near_best": NEAR_BEST,
            "plan": number + 1,
        }
        for number in range(plans)
    ]


def probe_systems(plans: int, newcomer: str, version: int | None) -> list[Values]:
    """Return the systems that probe a newcomer; `version` chooses its partners."""
    given = {"kind": "probe", "worker": newcomer, "version": version}
    return [{**given, "plan": number + 1} for number in range(plans)]


def trial_systems(
    plans: int, version: int, worth: int | None, newcomer: str
) -> list[Values]:
    """Return the systems of the second exploration, for a newcomer."""
    near = near_best_systems(plans, version, worth)
    return [{**system, "near_best": 1, "newcomer": newcomer} for system in near]


def gate_systems(
    answer_worth_micros: int | None,
    *,
    version: int,
    present: int | None,
    best: str,
    workers: Sequence[str],
    max_steps: int,
) -> list[Values]:
    """Return what is compared on held-out tasks, the new version first.

    `present` is the version in use, if any; `best` the one of `workers` that was right
    most often alone; `max_steps` is what plans may have.
    """
    light = {"kind": "light_planner", "answer_worth_micros": answer_worth_micros}
    systems: list[Values] = [{**light, "version": version}]
    if present is not None and present != version:
        systems.append({**light, "version": present})
    turns = min(REFLECTIONS, max_steps)
    if turns > 1:
        systems.append({"kind": "self_reflection", "worker": best, "turns": turns})
    others = [name for name in workers if name != best][:PROPOSERS]
    if len(others) > 1 and len(others) < max_steps:
        mixed = {"workers": others, "aggregator": best}
        systems.append({"kind": "mixture_of_agents", **mixed})
    return [*systems, *({"kind": "worker", "worker": name} for name in workers)]
