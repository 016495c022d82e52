"""Trials of draft policies as the team's pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext

from apps.governance.models import PolicyTrial, TriedOutcome
from apps.governance.trials.reads import (
    COUNTS,
    TrialStatus,
    affected_run_views,
    affected_runs,
    policy_trial_rules,
    policy_trial_sentence,
    policy_trial_status,
)

RUNS_SHOWN = 50
"""Runs on one page of a trial."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial in the list of trials, or at the head of its page."""

    trial: PolicyTrial
    status: TrialStatus
    sentence: str
    """What it has found so far."""

    @property
    def percent(self) -> int:
        """Return how far it is."""
        return 100 * self.trial.tried // max(self.trial.total, 1)


def trial_row(trial: PolicyTrial) -> TrialRow:
    """Return a trial as a row."""
    return TrialRow(
        trial, policy_trial_status(trial), policy_trial_sentence(trial, gettext)
    )


def trial_context(
    trial: PolicyTrial,
    *,
    outcome: str = "",
    page: str | None = None,
    in_form: bool = False,
) -> dict[str, Any]:
    """Return what `_policy_trial.html` needs.

    `outcome`: only runs with it; all if it is none. `in_form`: it is shown below the
    form of a rule, whose values must not get lost.
    """
    wanted = outcome if outcome in TriedOutcome.values else ""
    found = Paginator(affected_runs(trial, wanted), RUNS_SHOWN).get_page(page)
    choices = [(str(each), each.label, getattr(trial, each)) for each in TriedOutcome]
    return {
        "row": trial_row(trial),
        "rules": policy_trial_rules(trial),
        "found": found,
        "runs": affected_run_views(trial.team_id, found),
        "outcome": wanted,
        "choices": [choice for choice in choices if choice[2]],
        "affected": sum(getattr(trial, name) for name in COUNTS),
        "query": f"outcome={wanted}" if wanted else "",
        "in_form": in_form,
    }
