"""Changes to a team's consent, and exports of its learning data: all on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from django.db import transaction
from pydantic import Field

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.input_parts import InputPart, values_read
from apps.pools.selectors import pool_snapshot
from apps.pools.services import promise_dismiss as promise_dismiss
from apps.training.conductor.publishing import (
    conductor_version_delete as conductor_version_delete,
)
from apps.training.conductor.publishing import (
    conductor_version_publish as conductor_version_publish,
)
from apps.training.conductor.publishing import (
    conductor_version_use as conductor_version_use,
)
from apps.training.conductor.publishing import serving_command as serving_command
from apps.training.conductor.services import (
    conductor_training_cancel as conductor_training_cancel,
)
from apps.training.conductor.services import (
    conductor_training_start as conductor_training_start,
)
from apps.training.export.archive import archive_parts
from apps.training.export.planner_file import planner_written as planner_written
from apps.training.learning_data.graded_runs import has_consent
from apps.training.learning_data.subtasks import (
    FEWEST_USES as FEWEST_USES,
)
from apps.training.learning_data.subtasks import (
    SubtaskComparison,
    subtask_comparison,
)
from apps.training.live_exploration import shares_forget
from apps.training.models import HALF_LIFE_ANSWERS, TrainingSettings
from apps.training.trainings.services import training_cancel as training_cancel
from apps.training.trainings.services import training_start as training_start
from apps.training.trainings.transfer import planner_import as planner_import
from apps.training.trainings.use import planner_retire as planner_retire
from apps.training.trainings.use import planner_use as planner_use

FILE_TYPE = "application/zip"
"""Of exports."""
LEAST_HALF_LIFE, MOST_HALF_LIFE = 10, 1_000_000
"""Of answers that planners learn from between trainings."""
MOST_EXPLORED = 20
"""Percent of requests. More would be a test on callers, which A/B tests are for."""


class TrainingChoice(InputPart):
    """What a team decides about learning data."""

    learns_from_requests: bool = False
    """True: planners also learn from runs that people and API keys asked for."""
    explored_percent: Annotated[int, Field(ge=0, le=MOST_EXPLORED)] = 0
    """Of the requests to tiers of light planners that try a plan near the best one."""
    trusts_verified_outcomes: bool = False
    """True: what verifiers of callers found weighs more than ratings."""
    half_life_answers: Annotated[int, Field(ge=LEAST_HALF_LIFE, le=MOST_HALF_LIFE)] = (
        HALF_LIFE_ANSWERS
    )
    """Answers after which a worker's earlier ones count half between trainings."""


@dataclass(frozen=True, slots=True)
class LearningExport:
    """A file of learning data on its way."""

    name: str
    parts: Iterator[bytes]
    """Made as they are taken."""


@transaction.atomic
def training_settings_replace(
    *, team: Team, values: Mapping[str, Any], actor: Actor
) -> TrainingSettings:
    """Put a team's choice in force. It holds from the next fit, export or request on.

    Other processes learn of it within seconds. Raises: InvalidFields.
    """
    choice = values_read(TrainingChoice, values)
    rows = TrainingSettings.objects.for_team(team.id).select_for_update()
    settings, _ = rows.get_or_create(team_id=team.id)
    after = choice.model_dump()
    before = {name: getattr(settings, name) for name in after}
    if before == after:
        return settings
    for name, value in after.items():
        setattr(settings, name, value)
    settings.actor_name = actor.display[:200]
    settings.save()
    shares_forget()
    change = {"before": before, "after": after}
    _record(team, "training.settings_updated", actor, change)
    return settings


def learning_export(*, team: Team, pool: str | None, actor: Actor) -> LearningExport:
    """Record that somebody takes the learning data of a pool, and return its file.

    `pool` None: the default one. Raises: NotFound if the team has no such pool.
    """
    name = pool_snapshot(team.id, pool).name
    with transaction.atomic():
        consent = has_consent(team.id)
        facts = {"pool": name, "learns_from_requests": consent}
        _record(team, "training.data_exported", actor, facts)
    parts = archive_parts(team, name, has_consent=consent)
    return LearningExport(f"learning-data-{team.slug}.zip", parts)


def subtasks_compare(
    *,
    team: Team,
    pool: str | None,
    actor: Actor,
    family: str | None = None,
    worker: str = "",
) -> SubtaskComparison:
    """Compare subtasks by outcome, and record who read them.

    `pool` None: the default one; the filters are those of `subtask_comparison`.
    Raises: NotFound if the team has no such pool.
    """
    name = pool_snapshot(team.id, pool).name
    found = subtask_comparison(team.id, name, family=family, worker=worker)
    facts = {
        "pool": name,
        "family": family,
        "worker": worker,
        "runs": found.runs,
        "subtasks": len(found.outcomes),
    }
    with transaction.atomic():
        _record(team, "training.subtasks_read", actor, facts)
    return found


def _record(team: Team, action: str, actor: Actor, facts: dict[str, Any]) -> None:
    draft = EntryDraft(action, "training", team.id, actor, facts)
    entries_append(batch=Batch(team.id, (draft,)))
