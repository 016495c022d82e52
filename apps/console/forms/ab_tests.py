"""What people send to start an A/B test."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.console.forms.candidates import PROMOTABLE, CandidateForm
from apps.core.data_classes import DATA_CLASSES
from apps.evaluation.ab.settings import MAX_RUNS
from apps.evaluation.candidate_settings import MAX_DAYS


class ABTestForm(CandidateForm):
    """Which tier is compared, with what, and for whom."""

    percent = forms.IntegerField(
        label="Share of the API keys in percent",
        min_value=1,
        max_value=99,
        initial=50,
        help_text="Drawn by the ids of the keys. A key stays on its side.",
    )
    highest_data_class = forms.ChoiceField(
        label="Highest data class",
        required=False,
        choices=[("", "Any"), *((name, name.capitalize()) for name in DATA_CLASSES)],
        help_text="Requests of a higher one are left out, and answered as before.",
    )
    days = forms.IntegerField(
        label="Days at most", min_value=1, max_value=MAX_DAYS, initial=14
    )
    max_runs = forms.IntegerField(
        label="Runs at most",
        min_value=1,
        max_value=MAX_RUNS,
        initial=1_000,
        help_text="Of both sides together. Then the test ends by itself.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["original"].label = "A: the tier as it is"
        self.fields["candidate"].label = "B: the candidate"
        self.fields["candidate"].help_text = f"Answers the callers. {PROMOTABLE}"

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
