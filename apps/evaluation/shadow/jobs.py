"""Takes shadow tests that wait, in a thread of each serving process.

What drives them is loaded with the first test, not at the start of the process.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from datetime import timedelta

from django.db import DatabaseError, InterfaceError, transaction
from django.utils import timezone

from apps.audit.jobs import BROKE_OFF, Heartbeat, job_claim, jobs_rested
from apps.audit.models import JobState
from apps.core.errors import ConductorError
from apps.evaluation.job_sharing import jobs_for
from apps.evaluation.shadow.models import ShadowOutcome, ShadowTest
from apps.runs.models import ProcessKind

logger = logging.getLogger(__name__)
TURN_S = 10.0
"""So long one test is driven before others get their turn."""
IDLE = timedelta(seconds=1)
"""So long a test rests after its turn."""


def shadow_take(kind: ProcessKind) -> Generator[None] | None:
    """Return the steps of the test that has rested longest; None: none is due.

    `kind`: of this process.
    """
    rows = jobs_for(kind, ShadowTest.objects.across_teams())
    test = job_claim(jobs_rested(rows, IDLE))
    return None if test is None else shadow_steps(test)


def shadow_steps(test: ShadowTest) -> Generator[None]:
    """Drive a claimed test for one turn; closing the generator gives it back."""
    from apps.evaluation.shadow.driver import ShadowDriver, ShadowEnded

    claimed = ShadowTest.objects.for_team(test.team_id).filter(claim_id=test.claim_id)
    heart, turn_ends = Heartbeat(claimed), time.monotonic() + TURN_S
    try:
        driver = ShadowDriver(test)
        while driver.step() and time.monotonic() < turn_ends:
            if not heart.beat():
                return  # it was deleted, or another process took it for lost
            yield
        claimed.update(state=JobState.WAITING, beat_at=timezone.now())
    except GeneratorExit:
        claimed.update(state=JobState.WAITING)
        raise
    except ShadowEnded as exc:
        _finish(test, exc.outcome, exc.why)
    except (DatabaseError, InterfaceError):
        raise  # it goes on once it counts as lost
    except ConductorError as exc:
        _finish(test, ShadowOutcome.FAILED, exc.message)
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("shadow test %s broke off", test.id)
        _finish(test, ShadowOutcome.FAILED, BROKE_OFF)


def _finish(test: ShadowTest, outcome: ShadowOutcome, error: str = "") -> None:
    """Store how a test ended, unless it is no longer this process's."""
    from apps.evaluation.shadow.services import shadow_record_end

    rows = ShadowTest.objects.for_team(test.team_id)
    claimed = rows.filter(claim_id=test.claim_id)
    now = timezone.now()
    with transaction.atomic():
        ended = claimed.update(
            state=JobState.DONE,
            outcome=outcome,
            error=error[:300],
            beat_at=now,
            finished_at=now,
        )
        if ended:
            test.refresh_from_db()
            shadow_record_end(test)
