"""Background jobs on the ledger: rows that any serving process takes and works on.

A process claims a row, works in steps, and notes its progress once a second. A row
without progress has lost its process; another process begins it again, and the claim
keeps the first one from writing should it still be there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.audit.job_news import job_news
from apps.audit.models import BackgroundJob, JobState
from apps.audit.types import Actor
from apps.core.background.pacing import BackgroundWork
from apps.core.ids import new_id
from apps.core.scoping import TeamQuerySet

logger = logging.getLogger(__name__)

DEAD_AFTER = timedelta(seconds=60)
"""A job that made no progress for so long has lost its process."""
BEAT_S = 1.0
"""Seconds between two notes of the progress."""
LOOK_S = 2.0
"""Seconds between two looks for jobs of other processes; own ones begin at once."""
AFTER_WORK_S = 1.0
"""Seconds to the next look after a job was worked on: it may have more to do."""
DUE_S = 60.0
"""Seconds between two looks for jobs that are due, and before the first look."""
END_S = 5.0
"""Seconds to wait for the step in progress at the end; a database may hang."""
BROKE_OFF = "it broke off with an error, which the site's log has"
JOB_SHARE = 0.5
"""Share of the time that a job may use while no request is open."""
JobT = TypeVar("JobT", bound=BackgroundJob)
Steps = Generator[object]


def actor_facts(actor: Actor) -> dict[str, Any]:
    """Return what a job keeps of the actor who requested it."""
    return {
        "type": actor.type,
        "id": actor.id,
        "display": actor.display,
        "on_behalf_of": actor.on_behalf_of,
        "context": dict(actor.context),
    }


def jobs_to_take(rows: TeamQuerySet[JobT]) -> TeamQuerySet[JobT]:
    """Return the jobs that wait, and those that have lost their process."""
    lost = Q(state=JobState.RUNNING, beat_at__lt=timezone.now() - DEAD_AFTER)
    return rows.filter(Q(state=JobState.WAITING) | lost)


def jobs_rested(rows: TeamQuerySet[JobT], rest: timedelta) -> TeamQuerySet[JobT]:
    """Return the jobs that nobody took yet, and those whose turn is so long over."""
    is_new = Q(state=JobState.WAITING, claim_id=None)
    return rows.filter(is_new | Q(beat_at__lte=timezone.now() - rest))


def job_claim(rows: TeamQuerySet[JobT], **fresh: Any) -> JobT | None:
    """Take the job that has waited longest, and set `fresh` on it; None: none waits."""
    now = timezone.now()
    job = jobs_to_take(rows).order_by("beat_at").first()
    if job is None:
        return None
    same = rows.filter(
        pk=job.pk, state=job.state, claim_id=job.claim_id, beat_at=job.beat_at
    )
    values = {"state": JobState.RUNNING, "claim_id": new_id(), "beat_at": now, **fresh}
    if not same.update(**values):
        return None  # another process was faster
    for name, value in values.items():
        setattr(job, name, value)
    return job


def job_state(job: BackgroundJob) -> str:
    """Return waiting, running, lost (another process begins it again) or done."""
    if job.state == JobState.RUNNING and job.beat_at < timezone.now() - DEAD_AFTER:
        return "lost"
    return str(job.state)


class Heartbeat:
    """Notes the progress of a claimed job, once a second at most."""

    def __init__(self, claimed: QuerySet[Any]) -> None:
        self._claimed = claimed
        self._last = time.monotonic()

    def beat(self, **progress: Any) -> bool:
        """Note the progress if it is time; False: the claim is lost, so stop."""
        if time.monotonic() - self._last < BEAT_S:
            return True
        self._last = time.monotonic()
        return bool(self._claimed.update(beat_at=timezone.now(), **progress))


class JobThread:
    """The thread of a serving process that works on the jobs of one kind.

    It works half of the time at most, and less while requests are open
    (`core/background/`): runs in the same process have the rest.
    """

    def __init__(
        self,
        name: str,
        take: Callable[[], Steps | None],
        order_due: Callable[[], object] | None = None,
    ) -> None:
        self._name, self._take, self._order_due = name, take, order_due
        self._stop = threading.Event()
        self._news = job_news()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Self:
        """Look for jobs from now on."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Give back the job in progress, and stop."""
        self._stop.set()
        self._news.set()
        self._thread.join(END_S)

    def look(self, *, orders_due: bool = False) -> bool:
        """Do the jobs that wait; with `orders_due` make those that are due first.

        Returns whether there was one.
        """
        has_worked = False
        try:
            while not self._stop.is_set():
                if orders_due and self._order_due:
                    self._order_due()
                if not self._work():
                    break
                has_worked = True
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("%s: the database is away: %s", self._name, exc)
        except Exception:  # the boundary of a thread: the next look may do better
            logger.exception("%s: none this time", self._name)
        finally:
            connections[DEFAULT_DB_ALIAS].close()
        return has_worked

    def _work(self) -> bool:
        """Do one job; False: there was none."""
        steps = self._take()
        if steps is None:
            return False
        work = BackgroundWork(self._stop.wait, idle_share=JOB_SHARE)
        with work.here():
            for _ in steps:
                if work.step_done():
                    steps.close()
                    break
        return True

    def _run(self) -> None:
        due_at, pause_s = time.monotonic() + DUE_S, LOOK_S
        while not self._is_over(pause_s):
            is_time = time.monotonic() >= due_at
            has_worked = self.look(orders_due=is_time)
            pause_s = min(AFTER_WORK_S, LOOK_S) if has_worked else LOOK_S
            if is_time:
                due_at = time.monotonic() + DUE_S

    def _is_over(self, pause_s: float) -> bool:
        """Wait until it is time to look for jobs; say whether the thread is to end."""
        self._news.wait(pause_s)
        self._news.clear()
        return self._stop.is_set()
