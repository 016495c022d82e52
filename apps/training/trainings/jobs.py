"""Takes trainings that wait. What trains is loaded with the first one."""

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
from apps.training.trainings.models import Stage, Training, TrainingOutcome

logger = logging.getLogger(__name__)
TURN_S = 10.0
"""So long one training is driven before others get their turn."""
LOOK_S = 0.25
"""Seconds between two looks at what a training waits for."""
IDLE = timedelta(seconds=1)
"""So long a training rests after its turn."""


def training_take() -> Generator[None] | None:
    """Return the steps of the training that has rested longest; None: none is due."""
    rows = Training.objects.across_teams()
    training = job_claim(jobs_rested(rows, IDLE))
    return None if training is None else training_steps(training)


def training_steps(training: Training) -> Generator[None]:
    """Drive a claimed training for one turn; closing the generator gives it back."""
    from apps.training.trainings.driver import TrainingDriver, TrainingEnded

    rows = Training.objects.for_team(training.team_id)
    claimed = rows.filter(claim_id=training.claim_id)
    heart, turn_ends = Heartbeat(claimed), time.monotonic() + TURN_S
    try:
        for waits in TrainingDriver(training).steps():
            if not heart.beat():
                return  # it was deleted, or another process took it for lost
            if time.monotonic() >= turn_ends and training.stage not in FITS:
                claimed.update(state=JobState.WAITING, beat_at=timezone.now())
                return
            if waits:
                time.sleep(LOOK_S)
            yield
    except GeneratorExit:
        claimed.update(state=JobState.WAITING)
        raise
    except TrainingEnded as exc:
        _finish(training, exc.outcome, exc.why)
    except (DatabaseError, InterfaceError):
        raise  # it goes on once it counts as lost
    except ConductorError as exc:
        _finish(training, TrainingOutcome.FAILED, exc.message)
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("training %s broke off", training.id)
        _finish(training, TrainingOutcome.FAILED, BROKE_OFF)


FITS = (Stage.FIT, Stage.REFIT)
"""Stages that would have to begin again."""


def _finish(training: Training, outcome: TrainingOutcome, error: str = "") -> None:
    """Store how a training ended, unless it is no longer this process's."""
    from apps.training.trainings.embedding import vectors_forget
    from apps.training.trainings.services import training_record_end

    vectors_forget(training.id)
    rows = Training.objects.for_team(training.team_id)
    now = timezone.now()
    with transaction.atomic():
        ended = rows.filter(claim_id=training.claim_id).update(
            state=JobState.DONE,
            stage=Stage.END,
            outcome=outcome,
            error=error[:300],
            beat_at=now,
            finished_at=now,
        )
        if ended:
            training.refresh_from_db()
            training_record_end(training)
