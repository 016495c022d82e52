"""Takes evaluations that wait, in a thread of each serving process.

What evaluates is loaded with the first evaluation, not at the start of the process.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from typing import Any

from django.db import DatabaseError, InterfaceError, transaction
from django.utils import timezone

from apps.audit.jobs import BROKE_OFF, Heartbeat, job_claim, jobs_to_take
from apps.audit.models import JobState
from apps.core.errors import ConductorError
from apps.evaluation.models import Evaluation, EvaluationOutcome

logger = logging.getLogger(__name__)
TURN_S = 10.0
"""So long one evaluation is driven while others wait, or have lost their process."""


def evaluation_take() -> Generator[None] | None:
    """Return the steps of the evaluation that has waited longest; None: none waits."""
    evaluation = job_claim(Evaluation.objects.across_teams())
    return None if evaluation is None else evaluation_steps(evaluation)


def evaluation_steps(evaluation: Evaluation) -> Generator[None]:
    """Drive a claimed evaluation; closing the generator gives it back."""
    from apps.evaluation.driver import EvaluationDriver, EvaluationEnded

    rows = Evaluation.objects.for_team(evaluation.team_id)
    claimed = rows.filter(claim_id=evaluation.claim_id)
    claimed.filter(started_at=None).update(started_at=timezone.now())
    heart, turn_ends = Heartbeat(claimed), time.monotonic() + TURN_S
    try:
        driver = EvaluationDriver(evaluation)
        for _ in driver.steps():
            if not heart.beat(**driver.counts):
                return  # it was deleted, or another process took it for lost
            if time.monotonic() >= turn_ends and _others_wait():
                claimed.update(state=JobState.WAITING, beat_at=timezone.now())
                return  # its runs go on meanwhile, and are graded in its next turn
            yield
        _finish(evaluation, EvaluationOutcome.COMPLETED)
    except GeneratorExit:
        claimed.update(state=JobState.WAITING)
        raise
    except EvaluationEnded as exc:
        _finish(evaluation, exc.outcome, exc.why)
    except (DatabaseError, InterfaceError):
        raise  # it goes on once it counts as lost
    except ConductorError as exc:
        _finish(evaluation, EvaluationOutcome.FAILED, exc.message)
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("evaluation %s broke off", evaluation.id)
        _finish(evaluation, EvaluationOutcome.FAILED, BROKE_OFF)


def _others_wait() -> bool:
    return jobs_to_take(Evaluation.objects.across_teams()).exists()


def _finish(
    evaluation: Evaluation, outcome: EvaluationOutcome, error: str = ""
) -> None:
    """Store how an evaluation ended, unless it is no longer this process's."""
    from apps.evaluation.calibration import profiles_store
    from apps.evaluation.selectors import evaluation_counts
    from apps.evaluation.services import evaluation_record

    rows = Evaluation.objects.for_team(evaluation.team_id)
    claimed = rows.filter(claim_id=evaluation.claim_id)
    now = timezone.now()
    values: dict[str, Any] = {
        "state": JobState.DONE,
        "outcome": outcome,
        "error": error[:300],
        "beat_at": now,
        "finished_at": now,
        **evaluation_counts(evaluation),
    }
    with transaction.atomic():
        if claimed.update(**values):
            evaluation.refresh_from_db()
            profiles_store(evaluation)
            evaluation_record(evaluation)
