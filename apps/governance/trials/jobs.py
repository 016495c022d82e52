"""Takes trials that wait, in a thread of each serving process.

Each step keeps what it found together with how far it came, so a trial that a process
gives back at its end goes on where it was. One whose process died has failed: it could
be the trial that stops processes. People can start it again.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence

from django.db import DatabaseError, InterfaceError, transaction
from django.utils import timezone

from apps.audit.jobs import BROKE_OFF, DEAD_AFTER, job_claim
from apps.audit.models import JobState
from apps.core.errors import ConductorError
from apps.core.input_parts import values_read
from apps.core.scoping import TeamQuerySet
from apps.governance.models import AffectedRun, PolicyTrial, TrialEnd
from apps.governance.policies.rules import PolicyDocument
from apps.governance.trials.tried_runs import TriedRun, runs_tried

logger = logging.getLogger(__name__)
LOST = "the process that worked on it has ended"


def policy_trial_take() -> Generator[None] | None:
    """Return the steps of the trial that has waited longest; None: none waits."""
    rows = PolicyTrial.objects.across_teams()
    trial = job_claim(rows.filter(state=JobState.WAITING))
    return None if trial is None else _steps(trial)


def policy_trials_end_lost() -> int:
    """End the trials of all teams whose process has died; return how many."""
    return trials_end_lost(PolicyTrial.objects.across_teams())


def trials_end_lost(rows: TeamQuerySet[PolicyTrial]) -> int:
    """End those of some trials whose process has died; return how many."""
    now = timezone.now()
    lost = rows.filter(state=JobState.RUNNING, beat_at__lt=now - DEAD_AFTER)
    return trials_end(lost, TrialEnd.FAILED, LOST)


def trials_end(
    rows: TeamQuerySet[PolicyTrial], outcome: TrialEnd, error: str = ""
) -> int:
    """Store how trials ended; return how many. No process may write to them any more.

    Those that have ended already stay as they are.
    """
    now = timezone.now()
    return rows.exclude(state=JobState.DONE).update(
        state=JobState.DONE,
        outcome=outcome,
        error=error[:300],
        claim_id=None,
        beat_at=now,
        finished_at=now,
    )


def _steps(trial: PolicyTrial) -> Generator[None]:
    """Try a draft on a few runs at a time; closing the generator gives it back."""
    claimed = PolicyTrial.objects.for_team(trial.team_id).filter(
        id=trial.id, claim_id=trial.claim_id
    )
    try:
        for some in runs_tried(
            trial.team_id,
            values_read(PolicyDocument, trial.document),
            limit=trial.total - trial.tried,
            before=trial.last_run_id,
        ):
            if not _keep(trial, claimed, some):
                return  # it was cancelled or deleted, or counts as lost
            yield
        trials_end(claimed, TrialEnd.COMPLETED)
    except GeneratorExit:
        claimed.update(state=JobState.WAITING)
        raise
    except (DatabaseError, InterfaceError):
        raise  # it ends once it counts as lost
    except ConductorError as exc:
        trials_end(claimed, TrialEnd.FAILED, exc.message)
    except Exception:  # the boundary of a job: others must get their turn
        logger.exception("policy trial %s broke off", trial.id)
        trials_end(claimed, TrialEnd.FAILED, BROKE_OFF)


def _keep(
    trial: PolicyTrial, claimed: TeamQuerySet[PolicyTrial], some: Sequence[TriedRun]
) -> bool:
    """Store what was found; False: the trial is no longer this process's."""
    affected = [
        AffectedRun(
            team_id=trial.team_id,
            trial_id=trial.id,
            place=trial.tried + number,
            run_id=run.run_id,
            outcome=run.outcome,
            reasons=run.reasons,
        )
        for number, run in enumerate(some)
        if run.outcome is not None
    ]
    for each in affected:
        _count(trial, each)
    trial.tried += len(some)
    trial.last_run_id = some[-1].run_id
    with transaction.atomic():
        is_mine = claimed.update(
            beat_at=timezone.now(),
            tried=trial.tried,
            denied=trial.denied,
            held=trial.held,
            changed=trial.changed,
            unknown=trial.unknown,
            by_rule=trial.by_rule,
            last_run_id=trial.last_run_id,
        )
        if is_mine:
            AffectedRun.objects.bulk_create(affected)
    return bool(is_mine)


def _count(trial: PolicyTrial, run: AffectedRun) -> None:
    """Add a run to the counts of its trial."""
    name = str(run.outcome)
    setattr(trial, name, getattr(trial, name) + 1)
    for rule in {rule for rule, _ in run.reasons if rule}:
        counts = trial.by_rule.setdefault(rule, {})
        counts[name] = counts.get(name, 0) + 1
