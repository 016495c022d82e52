"""Which jobs a process may take: a web process leaves them to worker processes."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from django.utils import timezone

from apps.audit.models import BackgroundJob
from apps.core.scoping import TeamQuerySet
from apps.runs.models import ProcessKind
from apps.runs.selectors import has_process

LEFT_FOR = timedelta(seconds=60)
"""A job that no worker process has taken within this time is any process's."""
JobT = TypeVar("JobT", bound=BackgroundJob)


def jobs_for(kind: ProcessKind, rows: TeamQuerySet[JobT]) -> TeamQuerySet[JobT]:
    """Return those of some jobs that a process of this kind may take now.

    Requests wait for whatever else a web process does, so it takes none while a worker
    process can, unless they have waited for `LEFT_FOR`.
    """
    if kind == ProcessKind.WORKER or not has_process(ProcessKind.WORKER):
        return rows
    return rows.filter(beat_at__lt=timezone.now() - LEFT_FOR)
