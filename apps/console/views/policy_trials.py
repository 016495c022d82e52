"""Pages of trials: drafts of the policy that are tried on recorded runs."""

from __future__ import annotations

from uuid import UUID

from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import Permission
from apps.console.layout import change_and_tell, console_page, require
from apps.console.trial_rows import trial_context, trial_row
from apps.console.views.policy import TAB, rule_names
from apps.core.errors import Conflict
from apps.governance.models import PolicyTrial
from apps.governance.policies.sentences import sentence
from apps.governance.selectors import access_policy_trial, policy_trial_list
from apps.governance.services import (
    MAX_TRIALS,
    policy_trial_cancel,
    policy_trial_delete,
    policy_trial_start,
)
from apps.governance.trials.reads import policy_trial_draft
from apps.web.team_access import TeamRequest, team_view


@require_GET
@team_view
def policy_trials(request: TeamRequest) -> HttpResponseBase:
    """List the trials of the team."""
    require(request, Permission.MANAGE_POLICY)
    rows = [trial_row(trial) for trial in policy_trial_list(request.team.id)]
    context = {
        "rows": rows,
        "is_busy": any(row.status.is_open for row in rows),
        "most": MAX_TRIALS,
    }
    return console_page(request, "console/policy_trials.html", context, tab=TAB)


@require_GET
@team_view
def policy_trial(request: TeamRequest, trial_id: UUID) -> HttpResponseBase:
    """Show how far a trial is, and the runs that it has found."""
    trial = _trial(request, trial_id)
    draft, names = policy_trial_draft(trial), rule_names(request)
    context = trial_context(
        trial,
        outcome=request.GET.get("outcome", ""),
        page=request.GET.get("page"),
        in_form="form" in request.GET,
    )
    context["sentences"] = draft and [
        (rule.name, sentence(rule, names, gettext)) for rule in draft.rules
    ]
    return console_page(request, "console/policy_trial.html", context, tab=TAB)


@require_POST
@team_view
def policy_trial_cancel_action(
    request: TeamRequest, trial_id: UUID
) -> HttpResponseBase:
    """Cancel a trial; what it has found stays."""
    trial = _trial(request, trial_id)

    def cancel() -> None:
        if not policy_trial_cancel(trial=trial):
            raise Conflict("the trial has ended already")

    return change_and_tell(
        request,
        cancel,
        gettext("The trial is cancelled."),
        reverse("console:policy_trial", args=[trial.id]),
    )


@require_POST
@team_view
def policy_trial_again(request: TeamRequest, trial_id: UUID) -> HttpResponseBase:
    """Try the draft of a trial once more, on the runs that are the newest now."""
    trial = _trial(request, trial_id)
    started: list[PolicyTrial] = []
    done = change_and_tell(
        request,
        lambda: started.append(
            policy_trial_start(
                team=request.team,
                values=trial.document,
                runs=trial.asked,
                actor=request.actor,
            )
        ),
        gettext("The draft is tried once more."),
        reverse("console:policy_trial", args=[trial.id]),
    )
    return redirect("console:policy_trial", started[0].id) if started else done


@require_POST
@team_view
def policy_trial_delete_action(
    request: TeamRequest, trial_id: UUID
) -> HttpResponseBase:
    """Delete a trial with what it has found."""
    trial = _trial(request, trial_id)
    return change_and_tell(
        request,
        lambda: policy_trial_delete(trial=trial),
        gettext("The trial is deleted."),
        "console:policy_trials",
    )


def _trial(request: TeamRequest, trial_id: UUID) -> PolicyTrial:
    """Return a trial of the team, if the member may see it."""
    require(request, Permission.MANAGE_POLICY)
    return access_policy_trial(request.team.id, trial_id)
