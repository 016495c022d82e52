"""What a team decides about learning."""

from __future__ import annotations

from django import forms

from apps.console.forms.base import ConsoleForm
from apps.training.services import MOST_EXPLORED


class LearningForm(ConsoleForm):
    """What a team allows."""

    learns_from_requests = forms.BooleanField(
        label="Learn from the runs of people and API keys",
        required=False,
        help_text="Only from runs that were rated or reviewed. One person or key has "
        "the weight of 50 runs, and of a twentieth of all runs, at most.",
    )
    explored_percent = forms.IntegerField(
        label=f"Requests that explore, in percent, {MOST_EXPLORED} at most",
        required=False,
        min_value=0,
        max_value=MOST_EXPLORED,
        help_text="Of the requests to tiers of light planners, these try a plan near "
        "the best one: at most 0.05 less success, and twice the cost. Never against a "
        "policy, and only while planners may learn from requests.",
    )
