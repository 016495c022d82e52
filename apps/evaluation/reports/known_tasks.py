"""Tells which answers are right to a prompt that is a task of the largest measurement.

So a comparison of such a prompt needs neither a vote nor a judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from uuid import UUID

from apps.core.errors import SecretUnreadable
from apps.evaluation.models import StoredTask
from apps.evaluation.reports.headline import largest_measurement
from apps.evaluation.selectors import evaluation_list
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.pools.selectors import pool_list

MAX_TASKS_READ = 2_000
"""Tasks of a larger evaluation are not recognised: each is decrypted once."""
MAX_KEPT = 16
"""Evaluations whose tasks are known in memory, by digests of their prompts."""


def known_task(team_id: UUID, prompt: str) -> SuiteTask | None:
    """Return the task of the default pool's largest measurement that a prompt is.

    None: it is none, or none that its verifier can judge from the answer alone.
    """
    pool = pool_list(team_id).filter(is_default=True).first()
    found = None if pool is None else largest_measurement(pool)
    if found is None or not prompt.strip():
        return None
    task_id = _tasks(found.evaluation.id, team_id).get(_digest(prompt))
    if task_id is None:
        return None
    row = StoredTask.objects.for_team(team_id).filter(id=task_id).first()
    return None if row is None else task_read(row)


@lru_cache(maxsize=MAX_KEPT)
def _tasks(evaluation_id: UUID, team_id: UUID) -> Mapping[bytes, int]:
    """Return ids of the tasks of an evaluation, by digests of their prompts."""
    evaluation = evaluation_list(team_id).get(id=evaluation_id)
    settings = EvaluationSettings.model_validate(evaluation.settings)
    rows = StoredTask.objects.for_team(team_id).filter(
        version=evaluation.version_id,
        split=settings.split,
        needs_grader=False,
        needs_sandbox=False,
    )
    tasks: dict[bytes, int] = {}
    for row in rows[:MAX_TASKS_READ]:
        with suppress(SecretUnreadable):  # without its key nothing recognises a task
            tasks[_digest(task_read(row).prompt)] = row.id
    return tasks


def _digest(prompt: str) -> bytes:
    """Return a digest of a prompt; white space counts as one space."""
    return hashlib.sha256(" ".join(prompt.split()).encode()).digest()
