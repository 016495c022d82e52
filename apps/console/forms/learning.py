"""What a team decides about learning."""

from __future__ import annotations

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.training.services import (
    LEAST_HALF_LIFE,
    MOST_EXPLORED,
    MOST_HALF_LIFE,
)


class LearningForm(ConsoleForm):
    """What a team allows."""

    learns_from_requests = forms.BooleanField(
        label=_("Learn from the runs of people and API keys"),
        required=False,
        help_text=_(
            "Only runs that were rated, verified or reviewed count. One person or key "
            "counts for at most 50 runs, and for at most a twentieth of all runs."
        ),
    )
    trusts_verified_outcomes = forms.BooleanField(
        label=_("Trust the outcomes that programs verify"),
        required=False,
        help_text=_(
            "Programs report with an API key whether an answer was right. If you "
            "trust them, one key counts for up to 500 such runs, and for up to a "
            "quarter of all runs."
        ),
    )
    explored_percent = forms.IntegerField(
        label=format_lazy(
            _("Share of requests that explore, in percent (at most {most})"),
            most=MOST_EXPLORED,
        ),
        required=False,
        min_value=0,
        max_value=MOST_EXPLORED,
        help_text=_(
            "Such a request to a tier with a light planner tries a plan near the "
            "best one: at most 0.05 less success, and at most twice the cost. Never "
            "against a policy, and only while planners may learn from requests."
        ),
    )
    half_life_answers = forms.IntegerField(
        label=_("Answers after which earlier ones count half"),
        required=False,
        min_value=LEAST_HALF_LIFE,
        max_value=MOST_HALF_LIFE,
        help_text=_(
            "Between trainings, each graded request counts at once. The smaller this "
            "number, the sooner a planner follows a change, and the more it wavers."
        ),
    )
