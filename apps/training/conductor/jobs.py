"""Takes trainings of conductors that wait. What trains is loaded with the first one."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, InterfaceError, transaction
from django.utils import timezone

from apps.audit.jobs import BROKE_OFF, Heartbeat, job_claim, jobs_rested
from apps.audit.models import JobState
from apps.core.errors import ConductorError
from apps.core.scoping import TeamQuerySet
from apps.evaluation.job_sharing import jobs_for
from apps.runs.models import ProcessKind
from apps.training.conductor.models import (
    ConductorOutcome,
    ConductorStage,
    ConductorTraining,
    ConductorVersion,
)

logger = logging.getLogger(__name__)
TURN_S = 10.0
"""So long one gate is waited for before others get their turn."""
LOOK_S = 0.25
"""Seconds between two looks at what a training waits for."""
IDLE = timedelta(seconds=1)
"""So long a gate rests after its turn."""
MOST_CAUSE = 180
"""Characters of a cause that leave room for `LOG_PLACE`."""
LOG_PLACE = (
    "The operator finds its log in CONDUCTOR_TRAINING_DIR, {}/trainer.log, for {} days."
)
Steps = Generator[None]


def conductor_training_take(kind: ProcessKind) -> Steps | None:
    """Return the steps of a training whose trainer has work; None: none waits.

    `kind`: of this process. One without an environment to train in takes none.
    """
    if not settings.CONDUCTOR_TRAINING_PYTHON:
        return None
    rows = jobs_for(kind, _rows()).exclude(
        stage__in=(ConductorStage.SERVE, ConductorStage.GATE)
    )
    training = job_claim(rows)
    return None if training is None else conductor_training_steps(training)


def conductor_gate_take() -> Steps | None:
    """Return the steps of a training that is measured; None: none is due."""
    rows = jobs_rested(_rows().filter(stage=ConductorStage.GATE), IDLE)
    training = job_claim(rows)
    return None if training is None else conductor_training_steps(training)


def conductor_training_steps(training: ConductorTraining) -> Steps:
    """Drive a claimed training; closing the generator gives it back.

    The trainer is not stopped to give others their turn; it would load its model again.
    """
    from apps.training.conductor.claimed import ConductorTrainingEnded
    from apps.training.conductor.driver import ConductorTrainingDriver

    claimed = ConductorTraining.objects.for_team(training.team_id).filter(
        claim_id=training.claim_id
    )
    heart, turn_ends = Heartbeat(claimed), time.monotonic() + TURN_S
    try:
        for waits in ConductorTrainingDriver(training).steps():
            if not heart.beat():
                return  # it was deleted, or another process took it for lost
            is_gate = training.stage == ConductorStage.GATE
            if is_gate and time.monotonic() >= turn_ends:
                claimed.update(state=JobState.WAITING, beat_at=timezone.now())
                return
            if waits:
                time.sleep(LOOK_S)
            yield
    except GeneratorExit:
        claimed.update(state=JobState.WAITING)
        raise
    except ConductorTrainingEnded as exc:
        _finish(training, exc.outcome, exc.why)
    except (DatabaseError, InterfaceError):
        raise  # it goes on once it counts as lost
    except ConductorError as exc:
        _finish(training, ConductorOutcome.FAILED, exc.message)
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("training %s of a conductor broke off", training.id)
        _finish(training, ConductorOutcome.FAILED, BROKE_OFF)


def _rows() -> TeamQuerySet[ConductorTraining]:
    return ConductorTraining.objects.across_teams()


def _finish(
    training: ConductorTraining, outcome: ConductorOutcome, error: str = ""
) -> None:
    """Store how a training ended, unless it is no longer this process's."""
    from apps.training.conductor.folders import LOG_DAYS, folder_keep, has_log
    from apps.training.conductor.selectors import conductor_training_cost
    from apps.training.conductor.services import training_record_end
    from apps.training.conductor.trainer_faults import LOG
    from apps.training.conductor.training_folder import MODEL

    rows = ConductorTraining.objects.for_team(training.team_id)
    now = timezone.now()
    keeps_log = outcome == ConductorOutcome.FAILED and has_log(training.id)
    if keeps_log:
        where = LOG_PLACE.format(training.id, LOG_DAYS)
        error = f"{error[:MOST_CAUSE].rstrip('. ')}. {where}"
    with transaction.atomic():
        ended = rows.filter(claim_id=training.claim_id).update(
            state=JobState.DONE,
            stage=ConductorStage.END,
            outcome=outcome,
            error=error[:300],
            beat_at=now,
            finished_at=now,
        )
        if not ended:
            return
        training.refresh_from_db()
        training_record_end(training, conductor_training_cost(training))
    versions = ConductorVersion.objects.for_team(training.team_id)
    kept = [LOG] if keeps_log else []
    if versions.filter(training=training).exists():
        kept.append(MODEL)
    folder_keep(training.id, *kept)
