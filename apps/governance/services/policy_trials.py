"""Starts, cancels and deletes trials of draft policies. None of it is an entry.

A trial reads runs and changes nothing that a run, a policy or the ledger depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.types import Actor
from apps.core.errors import Conflict, NotFound
from apps.core.input_parts import values_read
from apps.governance.models import PolicyTrial, TrialEnd
from apps.governance.policies.rules import PolicyDocument
from apps.governance.selectors import policy_trial_list
from apps.governance.trials.jobs import trials_end, trials_end_lost
from apps.runs.models import Run

TRIED_RUNS, MAX_TRIED_RUNS = 500, 5_000
"""How many runs a draft is tried on if nothing is said, and at most."""
MAX_TRIALS = 20
"""Trials of a team that are kept; a further one takes the place of the oldest."""


def policy_trial_start(
    *, team: Team, values: Mapping[str, Any], runs: int, actor: Actor
) -> PolicyTrial:
    """Order a trial of a draft on the newest `runs` runs; it waits for a process.

    Raises: InvalidFields if the draft is no policy; Conflict while another trial of the
    team is in progress; NotFound if the team is no more.
    """
    document = values_read(PolicyDocument, values).values()
    with transaction.atomic():
        # One start after the other: the row of the team is their lock.
        if not Team.objects.select_for_update(no_key=True).filter(pk=team.pk).exists():
            raise NotFound("this team has been deleted")
        trials = policy_trial_list(team.id)
        trials_end_lost(trials)
        _require_none_open(trials.exclude(state=JobState.DONE).first())
        oldest = [trial.id for trial in trials.only("id")[MAX_TRIALS - 1 :]]
        trials.filter(id__in=oldest).delete()
        return PolicyTrial.objects.create(
            team=team,
            document=document,
            digest=_digest(document),
            asked=runs,
            total=Run.objects.for_team(team.id)[:runs].count(),
            state=JobState.WAITING,
            requested_by=actor_facts(Actor(actor.type, actor.id, actor.display)),
            beat_at=timezone.now(),
        )


def policy_trial_cancel(*, trial: PolicyTrial) -> bool:
    """End a trial and keep what it has found; False: it has ended already."""
    rows = policy_trial_list(trial.team_id).filter(id=trial.id)
    trials_end_lost(rows)
    return bool(trials_end(rows, TrialEnd.CANCELLED))


def policy_trial_delete(*, trial: PolicyTrial) -> None:
    """Delete a trial with what it has found; one in progress ends."""
    rows = policy_trial_list(trial.team_id).filter(id=trial.id)
    with transaction.atomic():
        # First the row: the process at work stores nothing between the two deletions.
        trials_end(rows, TrialEnd.CANCELLED)
        rows.delete()


def _require_none_open(trial: PolicyTrial | None) -> None:
    if trial is not None:
        raise Conflict(
            f"a trial that {trial.started_by} started is in progress, at "
            f"{trial.tried} of {trial.total} runs; cancel it first, or wait"
        )


def _digest(document: dict[str, Any]) -> str:
    return sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()
