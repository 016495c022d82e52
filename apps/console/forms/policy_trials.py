"""The form of a trial: on how many runs a draft is tried."""

from __future__ import annotations

from django import forms

from apps.console.forms.base import ConsoleForm
from apps.governance.services import MAX_TRIED_RUNS, TRIED_RUNS


class TrialForm(ConsoleForm):
    """How many of the newest runs."""

    runs = forms.IntegerField(
        label="Newest runs",
        initial=TRIED_RUNS,
        required=False,
        min_value=1,
        max_value=MAX_TRIED_RUNS,
        help_text=f"{MAX_TRIED_RUNS:,} at most. Empty: {TRIED_RUNS}.",
    )

    def clean_runs(self) -> int:
        """Return the number, or the usual one."""
        return self.cleaned_data["runs"] or TRIED_RUNS
