"""Runs to learn from, for tests: explorations, and requests that were judged."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from apps.accounts.models import ApiKey, User
from apps.core.ids import new_id
from apps.evaluation.models import Evaluation, RunOutcome
from apps.evaluation.production.counting import outcomes_count
from apps.governance.models import RunFeedback
from apps.pools.models import OutcomeSource
from apps.runs.models import Run
from apps.training.services import training_settings_replace
from tests.conftest import Cast, Site
from tests.evaluation.samples import documents
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR

EXPLORATION = {"kind": "exploration"}


def pool_name(site: Site) -> str:
    return str(site.cast.team.pools.get(is_default=True).name)


def training_tasks(count: int = 6) -> list[dict[str, Any]]:
    return [{**task, "split": "training"} for task in documents(count * 2)[:count]]


def explored(site: Site, count: int = 6) -> Evaluation:
    """Explore on so many tasks, which get each template in turn."""
    tasks = training_tasks(count)
    return ended(start(site, EXPLORATION, tasks=tasks, split="training"))


def consent(cast: Cast, given: bool = True, **others: Any) -> None:
    values = {"learns_from_requests": given, **others}
    training_settings_replace(team=cast.team, values=values, actor=ACTOR)


def credited() -> None:
    """Credit ratings and verdicts, as a process of the site does now and then."""
    for _ in outcomes_count():
        pass


def rated_rows(
    cast: Cast,
    asked_by: User | ApiKey,
    count: int,
    *,
    pool: str,
    rated_by: Iterable[User] = (),
    source: OutcomeSource = OutcomeSource.FEEDBACK,
) -> list[uuid.UUID]:
    """Put requests on record that were judged wrong, by rows alone."""
    kind = "api_key" if isinstance(asked_by, ApiKey) else "user"
    now, worker = timezone.now(), cast.team.workers.first()
    assert worker is not None
    runs = Run.objects.bulk_create(
        Run(
            id=new_id(),
            team=cast.team,
            state="completed",
            source="api",
            model="conductor-mini",
            pool_name=pool,
            pool_version=1,
            title="Teach it wrong",
            actor_type=kind,
            actor_id=str(asked_by.id),
            actor_name="-",
            created_at=now,
        )
        for _ in range(count)
    )
    RunOutcome.objects.bulk_create(
        RunOutcome(
            team=cast.team,
            run=run,
            worker=worker,
            family="",
            source=source,
            base_url=worker.base_url,
            model=worker.model,
            right=0,
            total=1,
        )
        for run in runs
    )
    RunFeedback.objects.bulk_create(
        RunFeedback(
            team=cast.team,
            run_id=run.id,
            actor_type="user",
            actor_id=str(person.id),
            actor_name="-",
            rating="down",
            entry_seq=1,
        )
        for run in runs
        for person in rated_by
    )
    return [run.id for run in runs]
