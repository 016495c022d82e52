"""What people send to start an A/B test."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.console.forms.candidates import (
    DATA_CLASS_CHOICES,
    PROMOTABLE,
    CandidateForm,
)
from apps.evaluation.ab.settings import MAX_RUNS
from apps.evaluation.candidate_settings import MAX_DAYS


class ABTestForm(CandidateForm):
    """Which tier is compared, with what, and for whom."""

    percent = forms.IntegerField(
        label=_("Share of the API keys in percent"),
        min_value=1,
        max_value=99,
        initial=50,
        help_text=_("The ids of the keys decide. A key stays on its side."),
    )
    highest_data_class = forms.ChoiceField(
        label=_("Highest data class"),
        required=False,
        choices=[("", _("Any")), *DATA_CLASS_CHOICES],
        help_text=_("Requests above it are left out and answered as before."),
    )
    days = forms.IntegerField(
        label=_("Maximum number of days"), min_value=1, max_value=MAX_DAYS, initial=14
    )
    max_runs = forms.IntegerField(
        label=_("Maximum number of runs"),
        min_value=1,
        max_value=MAX_RUNS,
        initial=1_000,
        help_text=_("Both sides together. The test then ends by itself."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["original"].label = _("A: the tier as it is")
        self.fields["candidate"].label = _("B: the candidate")
        answers = _("Answers the callers.")
        self.fields["candidate"].help_text = f"{answers} {PROMOTABLE}"

    def values(self) -> dict[str, Any]:
        """Return the settings of the test."""
        given = self.cleaned_data
        found = {
            **self.candidate_values(),
            "percent": given["percent"],
            "highest_data_class": given["highest_data_class"] or None,
            "days": given["days"],
            "max_runs": given["max_runs"],
        }
        return {name: value for name, value in found.items() if value is not None}
