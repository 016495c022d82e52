"""The form of a trial: on how many runs a draft is tried."""

from __future__ import annotations

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.governance.services import MAX_TRIED_RUNS, TRIED_RUNS


class TrialForm(ConsoleForm):
    """How many of the newest runs."""

    runs = forms.IntegerField(
        label=_("Newest runs"),
        initial=TRIED_RUNS,
        required=False,
        min_value=1,
        max_value=MAX_TRIED_RUNS,
        help_text=format_lazy(
            _("{most} at most. Empty: {usual}."),
            most=f"{MAX_TRIED_RUNS:,}",
            usual=TRIED_RUNS,
        ),
    )

    def clean_runs(self) -> int:
        """Return the number, or the usual one."""
        return self.cleaned_data["runs"] or TRIED_RUNS
