"""Trials of draft policies on recorded runs: started here, done in the background."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_POLICY
from apps.governance.models import PolicyTrial, TriedOutcome
from apps.governance.selectors import access_policy_trial, policy_trial_list
from apps.governance.services import (
    MAX_TRIED_RUNS,
    TRIED_RUNS,
    policy_trial_cancel,
    policy_trial_delete,
    policy_trial_start,
)
from apps.governance.trials.reads import (
    COUNTS,
    affected_run_views,
    affected_runs,
    policy_trial_rules,
    policy_trial_sentence,
    policy_trial_status,
)
from apps.rest.fields import Output, Time, Whole
from apps.rest.pagination import Page, PageQuery, page_by_place
from apps.rest.resources.governance.policy import (
    PATTERNS,
    PATTERNS_HELP,
    RULES,
    RULES_HELP,
    TAG,
    PolicyInput,
)
from apps.rest.schema import operation
from apps.rest.views import RestView

LOCATION = OpenApiParameter(
    "Location",
    str,
    OpenApiParameter.HEADER,
    response=[202],
    description="The address of the trial.",
)
TRIAL: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000051",
    "state": "completed",
    "error": "",
    "summary": "Would have stopped 4 of 500 runs, changed 11 and held 7 for approval.",
    "progress": {"tried": 500, "total": 500},
    "denied": 4,
    "held": 7,
    "changed": 11,
    "unknown": 0,
    "by_rule": [{"rule": "No Falcon", "denied": 4, "held": 0, "changed": 0}],
    "sha256": "0" * 64,
    "rules": RULES,
    "patterns": PATTERNS,
    "started_by": "Alice",
    "created_at": "2026-11-21T15:53:16.000000Z",
    "finished_at": "2026-11-21T15:53:21.000000Z",
}
STARTED: dict[str, Any] = {
    **TRIAL,
    "state": "waiting",
    "summary": "Would have stopped 0 of 0 runs, changed 0 and held 0 for approval.",
    "progress": {"tried": 0, "total": 500},
    "denied": 0,
    "held": 0,
    "changed": 0,
    "by_rule": [],
    "finished_at": None,
}
AFFECTED: dict[str, Any] = {
    "run_id": "0199c0de-0000-7000-8000-000000000001",
    "title": "What does Project Falcon cost?",
    "created_at": "2026-11-21T15:53:16.000000Z",
    "outcome": "denied",
    "reasons": [{"rule": "No Falcon", "reason": "Rule 'No Falcon' says: deny it"}],
}


class PolicyTrialInput(PolicyInput):
    """A draft to try."""

    runs = Whole(
        min_value=1,
        max_value=MAX_TRIED_RUNS,
        required=False,
        default=TRIED_RUNS,
        help_text="How many of the newest runs.",
    )


class TrialProgressOutput(Output):
    """How far a trial is."""

    tried = serializers.IntegerField(help_text="Runs that were tried.")
    total = serializers.IntegerField(help_text="Runs that are to be tried.")


class RuleCountsOutput(Output):
    """For how many runs a rule is a reason; one run may have several."""

    rule = serializers.CharField()
    denied = serializers.IntegerField()
    held = serializers.IntegerField()
    changed = serializers.IntegerField()


class PolicyTrialOutput(Output):
    """A trial of a draft policy, and what it has found so far."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(
        choices=["waiting", "running", "completed", "cancelled", "failed"]
    )
    error = serializers.CharField(help_text="Why it failed; else empty.")
    summary = serializers.CharField(help_text="The counts as a sentence.")
    progress = TrialProgressOutput()
    denied = serializers.IntegerField(help_text="Runs that would have been stopped.")
    held = serializers.IntegerField(
        help_text="Runs that would have waited for an approval."
    )
    changed = serializers.IntegerField()
    unknown = serializers.IntegerField(
        help_text="Runs that could not be tried: the prompt is erased, or the model is "
        "not there any more."
    )
    by_rule = RuleCountsOutput(many=True, help_text="Rules that are reasons.")
    sha256 = serializers.CharField(
        help_text="Of the draft: what is given of `rules` and `patterns`, as "
        "JSON with sorted names and without spaces. Equal drafts have equal ones."
    )
    rules = serializers.ListField(child=serializers.DictField(), help_text=RULES_HELP)
    patterns = serializers.ListField(
        child=serializers.DictField(), help_text=PATTERNS_HELP
    )
    started_by = serializers.CharField()
    created_at = Time()
    finished_at = Time(allow_null=True)


class TrialReasonOutput(Output):
    """Why a run is among those that a trial has found."""

    rule = serializers.CharField(help_text="Its name. Empty: no rule is the reason.")
    reason = serializers.CharField()


class AffectedRunOutput(Output):
    """A run that a draft would not have let pass as it did."""

    run_id = serializers.UUIDField()
    title = serializers.CharField(help_text="Empty: the prompt is erased.")
    created_at = Time(allow_null=True)
    outcome = serializers.ChoiceField(choices=TriedOutcome.choices)
    reasons = TrialReasonOutput(many=True)


class AffectedRunQuery(PageQuery):
    """Which runs of a trial."""

    outcome = serializers.ChoiceField(choices=TriedOutcome.choices, required=False)


class PolicyTrials(RestView):
    """The trials of the team's drafts."""

    tag = TAG
    rights = {"GET": MANAGE_POLICY, "POST": MANAGE_POLICY}

    @operation(
        "policy_trial_list",
        "List trials of draft policies",
        page_of=PolicyTrialOutput,
        example=TRIAL,
    )
    def get(self, request: Request) -> Response:
        """Return the trials, newest first."""
        trials = policy_trial_list(self.principal.team_id)
        return self.listed([_told(trial) for trial in trials], PolicyTrialOutput)

    @operation(
        "policy_trial_start",
        "Try a draft policy on recorded runs",
        body=PolicyTrialInput,
        answer=PolicyTrialOutput,
        status=202,
        parameters=[LOCATION],
        errors=(409,),
        sent={"rules": RULES, "patterns": PATTERNS, "runs": 500},
        example=STARTED,
    )
    def post(self, request: Request) -> Response:
        """Find out what a draft would have done to the newest runs.

        It is done in the background and changes no run and no policy; the trial at its
        `Location` says how far it is. Rules in shadow mode count as enforced. Roles,
        tags and prices are today's. The newest 20 trials of a team are kept. 409:
        another trial of the team is in progress.
        """
        values = self.read(PolicyTrialInput)
        trial = policy_trial_start(
            team=self.principal.team,
            runs=values.pop("runs"),
            values=values,
            actor=self.principal.actor,
        )
        address = reverse("rest:policy_trial", args=[trial.id])
        return self.accepted(PolicyTrialOutput(_told(trial)).data, address)


class OnePolicyTrial(RestView):
    """One trial."""

    tag = TAG
    rights = {"GET": MANAGE_POLICY, "DELETE": MANAGE_POLICY}

    @operation(
        "policy_trial_get",
        "Read what a trial has found so far",
        answer=PolicyTrialOutput,
        example=TRIAL,
    )
    def get(self, request: Request, trial_id: uuid.UUID) -> Response:
        """Return a trial: how far it is, and its counts."""
        return Response(PolicyTrialOutput(_told(_trial(self, trial_id))).data)

    @operation("policy_trial_delete", "Delete a trial")
    def delete(self, request: Request, trial_id: uuid.UUID) -> Response:
        """Delete a trial with what it has found; one in progress is cancelled."""
        policy_trial_delete(trial=_trial(self, trial_id))
        return Response(status=204)


class PolicyTrialCancel(RestView):
    """Cancels a trial."""

    tag = TAG
    rights = {"POST": MANAGE_POLICY}

    @operation(
        "policy_trial_cancel",
        "Cancel a trial",
        answer=PolicyTrialOutput,
        example={**TRIAL, "state": "cancelled"},
    )
    def post(self, request: Request, trial_id: uuid.UUID) -> Response:
        """End a trial; what it has found stays. One that has ended stays as it is."""
        policy_trial_cancel(trial=_trial(self, trial_id))
        return Response(PolicyTrialOutput(_told(_trial(self, trial_id))).data)


class PolicyTrialRuns(RestView):
    """The runs that a trial has found."""

    tag = TAG
    rights = {"GET": MANAGE_POLICY}

    @operation(
        "policy_trial_runs",
        "List the runs that a draft would have affected",
        page_of=AffectedRunOutput,
        query=AffectedRunQuery,
        example=AFFECTED,
    )
    def get(self, request: Request, trial_id: uuid.UUID) -> Response:
        """Return runs that would not have passed as they did, newest first."""
        asked = self.read_page(AffectedRunQuery)
        rows = affected_runs(_trial(self, trial_id), asked.pop("outcome", ""))
        page = page_by_place(rows, **asked)
        shown = affected_run_views(self.principal.team_id, page.data)
        return self.paged(Page(shown, page.next_cursor), AffectedRunOutput)


def _trial(view: RestView, trial_id: uuid.UUID) -> PolicyTrial:
    """Return a trial of the principal's team. Raises: NotFound."""
    return access_policy_trial(view.principal.team_id, trial_id)


def _told(trial: PolicyTrial) -> dict[str, Any]:
    status = policy_trial_status(trial)
    return {
        "id": trial.id,
        "state": status.state,
        "error": status.error,
        "summary": policy_trial_sentence(trial),
        "progress": {"tried": trial.tried, "total": trial.total},
        **{name: getattr(trial, name) for name in COUNTS},
        "by_rule": policy_trial_rules(trial),
        "sha256": trial.digest,
        "rules": trial.document.get("rules", []),
        "patterns": trial.document.get("patterns", []),
        "started_by": trial.started_by,
        "created_at": trial.created_at,
        "finished_at": trial.finished_at,
    }
