"""Marks workers for the abilities that their last test detected.

What a test could not find out stays as it is.
"""

from __future__ import annotations

import uuid

from asgiref.sync import sync_to_async

from apps.audit.types import Actor
from apps.pools.models import Worker
from apps.pools.selectors import abilities_not_as_set, access_worker, last_test
from apps.pools.services.model_tests import worker_test
from apps.pools.services.workers import worker_update
from apps.pools.types import TestResult

_in_thread = sync_to_async


def abilities_adopt(*, worker: Worker, actor: Actor) -> Worker:
    """Turn on what a worker's last test detected, and off what it does not support.

    Raises: NotFound.
    """
    row = access_worker(worker.team_id, worker.id)
    return worker_update(worker=row, values=abilities_not_as_set(row), actor=actor)


async def worker_first_test(
    *, team_id: uuid.UUID, worker_id: uuid.UUID, actor: Actor
) -> TestResult:
    """Test a worker, and set its abilities with the first test that passes.

    After a test that passed they are a person's to change. Raises: as `worker_test`.
    """
    row = await _in_thread(access_worker)(team_id, worker_id)
    earlier = last_test(row)
    result = await worker_test(team_id=team_id, worker_id=worker_id, actor=actor)
    if result.ok and not (earlier and earlier.ok):
        await _in_thread(abilities_adopt)(worker=row, actor=actor)
    return result
