"""The prompts of a conductor's training: a task each, about a pool or a part of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from apps.engine.ports import Pool
from apps.evaluation.drawing import tasks_of_split
from apps.evaluation.models import StoredTask
from apps.evaluation.suites.storage import task_read
from apps.planners.light.planner import LightPlanner
from apps.pools.types import PoolSnapshot
from apps.runs.planning.model_resolver import parse_model, resolve
from apps.training.conductor.examples import expert_example, part_of
from apps.training.conductor.models import ConductorTraining
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.conductor.training_folder import FittingExample, RolloutTask

PLACES = "places.json"
"""Which task and workers each prompt is about; read again by whoever takes over."""


@dataclass(frozen=True, slots=True)
class PromptPlace:
    """What one prompt of the conductor is about."""

    task_id: int
    """Of the stored task."""
    workers: tuple[str, ...]
    """In the order of their numbers in the prompt."""
    kept: str = ""
    """Digest of the task's plan that the prompt shows with its answer, which a reply
    may keep; empty: it shows none."""
    has_next: bool = False
    """Another round would follow, so rewards are discounted."""


@dataclass(frozen=True, slots=True)
class TrainingPrompt:
    """One prompt with the replies that the light planner would give."""

    key: str
    place: PromptPlace
    text: str
    completions: tuple[str, ...]

    @property
    def example(self) -> FittingExample:
        """Return it as the trainer reads it to fit; it must have completions."""
        return FittingExample(self.key, self.text, self.completions)

    @property
    def task(self) -> RolloutTask:
        """Return it as the trainer reads it to sample plans."""
        return RolloutTask(self.key, self.text)


def training_prompts(
    training: ConductorTraining,
    plan: ConductorTrainingPlan,
    planner: LightPlanner,
    snapshot: PoolSnapshot,
) -> Iterator[TrainingPrompt]:
    """Yield the prompts of a training, the same for the same seed."""
    pool, max_steps = tier_pool(snapshot, plan.tier)
    version = training.suite_version
    ids = tasks_of_split(version, "training", plan.training_tasks, plan.seed)
    rows = StoredTask.objects.for_team(training.team_id)
    for task_id in ids:
        row = rows.get(id=task_id)
        prompt = task_read(row).prompt
        for number in range(plan.examples_per_task):
            chance = random.Random(f"{plan.seed} {row.key} {number}")  # nosec B311
            part = _part(pool, plan, chance)
            found = expert_example(planner, prompt, part, max_steps)
            yield TrainingPrompt(
                f"{task_id}-{number}",
                PromptPlace(task_id, found.workers),
                found.prompt,
                found.completions,
            )


def tier_pool(snapshot: PoolSnapshot, tier: str) -> tuple[Pool, int]:
    """Return the pool as runs of a tier have it, and the most steps of a plan."""
    model = f"{snapshot.name}/{tier}"
    resolved = resolve(parse_model(model), model, snapshot)
    return resolved.pool, resolved.limits.max_steps


def places_write(folder: Path, places: Mapping[str, PromptPlace]) -> None:
    """Keep what the prompts are about, by their keys."""
    found = {key: asdict(place) for key, place in places.items()}
    (folder / PLACES).write_text(json.dumps(found))


def places_read(folder: Path) -> dict[str, PromptPlace]:
    """Return what the prompts of a folder are about, by their keys."""
    found = json.loads((folder / PLACES).read_text())
    return {
        key: PromptPlace(**{**values, "workers": tuple(values["workers"])})
        for key, values in found.items()
    }


def _part(pool: Pool, plan: ConductorTrainingPlan, chance: random.Random) -> Pool:
    if plan.sub_pools == "fixed":
        return pool
    return part_of(pool, chance, plan.fewest_workers)
