"""Stores the versions of suites, encrypted, and reads their tasks again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from uuid import UUID

import orjson

from apps.core.keyring import seal, unseal
from apps.evaluation.models import StoredTask, SuiteVersion
from apps.evaluation.suites.tasks import SuiteTask

SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
AT_ONCE = 500
"""Tasks written with one statement."""


def tasks_digest(tasks: Iterable[SuiteTask]) -> str:
    """Return the SHA-256 of tasks: of each one's JSON, keys sorted, and a line feed."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(orjson.dumps(task_values(task), option=SORTED))
    return digest.hexdigest()


def tasks_store(version: SuiteVersion, tasks: Sequence[SuiteTask]) -> None:
    """Write the tasks of a new version."""
    rows = (
        StoredTask(
            team_id=version.team_id,
            version=version,
            index=index,
            key=task.id,
            family=task.family,
            split=task.split,
            needs_grader=task.needs_grader,
            needs_sandbox=task.needs_sandbox,
            sealed=seal(
                orjson.dumps(task_values(task)), context=_context(version.id, index)
            ),
        )
        for index, task in enumerate(tasks)
    )
    StoredTask.objects.bulk_create(rows, batch_size=AT_ONCE)


def task_read(row: StoredTask) -> SuiteTask:
    """Return a stored task. Raises: SecretUnreadable."""
    sealed = unseal(bytes(row.sealed), context=_context(row.version_id, row.index))
    return SuiteTask.model_validate(orjson.loads(sealed))


def task_values(task: SuiteTask) -> dict[str, object]:
    """Return a task as JSON values, as files have it."""
    return task.model_dump(mode="json", by_alias=True)


def _context(version_id: UUID, index: int) -> bytes:
    return b"evaluation.task" + version_id.bytes + index.to_bytes(4)
