"""Reads of trials: how far one is, what it says, and the runs that it affects."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext_noop as _

from apps.audit.jobs import job_state
from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.core.scoping import TeamQuerySet
from apps.governance.models import AffectedRun, PolicyTrial, TrialEnd
from apps.governance.policies.rules import PolicyDocument
from apps.governance.trials.jobs import LOST
from apps.runs.models import Run

FOUND = _(
    "Would have stopped {denied} of {tried} runs, changed {changed} and held {held} "
    "for approval"
)
FOUND_IN_ONE = _(
    "Would have stopped {denied} of {tried} run, changed {changed} and held {held} "
    "for approval"
)
COUNTS = ("denied", "held", "changed", "unknown")
"""Outcomes that are counted, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """Where a trial stands."""

    state: str
    """waiting, running, completed, cancelled or failed."""
    error: str
    """Why it failed; else empty."""

    @property
    def is_open(self) -> bool:
        """Say whether it is still in progress."""
        return self.state in ("waiting", "running")


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """For how many runs a rule of a draft is a reason, by their outcomes."""

    rule: str
    denied: int = 0
    held: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True)
class TrialReason:
    """Why a run is among those that a trial has found."""

    rule: str
    """Its name. Empty: no rule is the reason."""
    reason: str
    """What it says."""


@dataclass(frozen=True, slots=True)
class AffectedRunView:
    """A run that a draft would not have let pass as it did."""

    run_id: uuid.UUID
    title: str
    """The beginning of its prompt as it is now. Empty: it is erased."""
    created_at: datetime | None
    """None: the run is not on the list any more."""
    outcome: str
    """denied, held, changed or unknown."""
    reasons: tuple[TrialReason, ...]


def policy_trial_status(trial: PolicyTrial) -> TrialStatus:
    """Return where a trial stands; one whose process has died has failed."""
    state = job_state(trial)
    if state == "lost":
        return TrialStatus(TrialEnd.FAILED, LOST)
    return TrialStatus(str(trial.outcome) if state == "done" else state, trial.error)


def policy_trial_sentence(trial: PolicyTrial, say: Callable[[str], str] = str) -> str:
    """Return what a trial has found so far, in words; `say` translates them."""
    words = say(FOUND_IN_ONE if trial.tried == 1 else FOUND).format(
        tried=f"{trial.tried:,}",
        denied=f"{trial.denied:,}",
        changed=f"{trial.changed:,}",
        held=f"{trial.held:,}",
    )
    if not trial.unknown:
        return f"{words}."
    unknown = say(_("{number} could not be tried")).format(number=f"{trial.unknown:,}")
    return f"{words}; {unknown}."


def policy_trial_rules(trial: PolicyTrial) -> list[RuleCounts]:
    """Return the rules of a draft that are reasons, in their order."""
    names = [rule["name"] for rule in trial.document.get("rules", [])]
    found = [name for name in names if name in trial.by_rule]
    return [RuleCounts(name, **trial.by_rule[name]) for name in found]


def policy_trial_draft(trial: PolicyTrial) -> PolicyDocument | None:
    """Return the draft of a trial; None: this release cannot read it any more."""
    try:
        return values_read(PolicyDocument, trial.document)
    except InvalidFields:
        return None


def affected_runs(trial: PolicyTrial, outcome: str = "") -> TeamQuerySet[AffectedRun]:
    """Return the runs that a trial has found, newest first; with `outcome` of one."""
    rows = AffectedRun.objects.for_team(trial.team_id).filter(trial_id=trial.id)
    return rows.filter(outcome=outcome) if outcome else rows


def affected_run_views(
    team_id: uuid.UUID, rows: Iterable[AffectedRun]
) -> list[AffectedRunView]:
    """Return some runs that a trial has found, with what lists show of runs."""
    found = list(rows)
    runs = Run.objects.for_team(team_id).only("id", "title", "created_at")
    known = runs.in_bulk([row.run_id for row in found])
    return [_view(row, known.get(row.run_id)) for row in found]


def _view(row: AffectedRun, run: Run | None) -> AffectedRunView:
    return AffectedRunView(
        row.run_id,
        run.title if run else "",
        run.created_at if run else None,
        row.outcome,
        tuple(TrialReason(rule, why) for rule, why in row.reasons),
    )
