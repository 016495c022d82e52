"""Changes to a team's consent, and exports of its learning data: all on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.models import Team
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.input_parts import InputPart, values_read
from apps.pools.selectors import pool_snapshot
from apps.training.export.archive import archive_parts
from apps.training.learning_data.graded_runs import has_consent
from apps.training.models import TrainingSettings
from apps.training.trainings.services import training_cancel as training_cancel
from apps.training.trainings.services import training_start as training_start
from apps.training.trainings.use import planner_retire as planner_retire
from apps.training.trainings.use import planner_use as planner_use

FILE_TYPE = "application/zip"
"""Of exports."""


class TrainingChoice(InputPart):
    """What a team decides about learning data."""

    learns_from_requests: bool = False
    """True: planners also learn from runs that people and API keys asked for."""


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
    """Put a team's choice in force. It holds from the next fit or export on.

    Raises: InvalidFields.
    """
    choice = values_read(TrainingChoice, values)
    rows = TrainingSettings.objects.for_team(team.id).select_for_update()
    settings, _ = rows.get_or_create(team_id=team.id)
    before = settings.learns_from_requests
    if before == choice.learns_from_requests:
        return settings
    settings.learns_from_requests = choice.learns_from_requests
    settings.actor_name = actor.display[:200]
    settings.save()
    change = {
        "before": {"learns_from_requests": before},
        "after": choice.model_dump(),
    }
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


def _record(team: Team, action: str, actor: Actor, facts: dict[str, Any]) -> None:
    draft = EntryDraft(action, "training", team.id, actor, facts)
    entries_append(batch=Batch(team.id, (draft,)))
