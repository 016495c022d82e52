"""The form of reviews: which runs are queued, and the rubric."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms import numbers
from apps.console.forms.base import ConsoleForm
from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import InvalidFields, InvalidInput
from apps.governance.reviews.rules import MAX_CRITERIA, ReviewDocument

TWO_SCORES_MARK = ": pass or fail"
"""At the end of a line: the criterion has no scale."""
PLAIN = ("failures", "policy_hits", "thumbs_down", "second_reviewer")


class ReviewSettingsForm(ConsoleForm):
    """Rules and rubric."""

    failures = forms.BooleanField(label=_("It failed"), required=False)
    policy_hits = forms.BooleanField(
        label=_("A rule of the policy stopped it, changed it or held its plan"),
        required=False,
    )
    thumbs_down = forms.BooleanField(
        label=_("Somebody rates its answer as bad"), required=False
    )
    cost_over_usd = numbers.dollars(_("It cost more than, in dollars"), required=False)
    data_class = forms.ChoiceField(
        label=_("Its prompt has this data class or a higher one"),
        choices=[
            ("", _("No matter")),
            *((name, _(name.title())) for name in DATA_CLASSES),
        ],
        required=False,
        help_text=_("Known only if a rule of the policy depends on data classes."),
    )
    sample_percent = forms.IntegerField(
        label=_("It belongs to a sample, in percent of all runs"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("Chosen by a hash of the run's id, so it can be checked."),
    )
    rubric = forms.CharField(
        label=_("Criteria"),
        required=False,
        max_length=1_000,
        help_text=format_lazy(
            _(
                "One in each line, at most {most}. They are scored from 1 to 5; "
                "“{mark}” after the name makes it a yes or no."
            ),
            most=MAX_CRITERIA,
            mark=TWO_SCORES_MARK.strip(),
        ),
        widget=forms.Textarea(
            attrs={"rows": 4, "placeholder": _("Correct\nComplete\nSafe: pass or fail")}
        ),
    )
    second_reviewer = forms.BooleanField(
        label=_("A verdict needs two people"), required=False
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def take(self, error: InvalidInput) -> None:
        """Show a service's complaint beside the field it is about."""
        if isinstance(error, InvalidFields):
            fields: dict[str, list[str]] = {}
            for path, told in error.fields.items():
                fields.setdefault(re.split(r"[.\[]", path)[0], []).extend(told)
            error = InvalidFields(fields)
        super().take(error)

    @property
    def values(self) -> dict[str, Any]:
        """Return the settings in the words of the service."""
        data = self.cleaned_data
        cost = data["cost_over_usd"]
        return {
            **{name: data[name] for name in PLAIN},
            "cost_over_usd": None if cost is None else str(cost),
            "data_class": data["data_class"] or None,
            "sample_percent": data["sample_percent"] or 0,
            "rubric": [_criterion(line) for line in _lines(data["rubric"])],
        }


def review_settings_initial(rules: ReviewDocument, version: int) -> dict[str, Any]:
    """Return what the form shows of settings."""
    lines = [
        each.name + (TWO_SCORES_MARK if each.kind == "pass_fail" else "")
        for each in rules.rubric
    ]
    return {
        **{name: getattr(rules, name) for name in PLAIN},
        "cost_over_usd": rules.cost_over_usd,
        "data_class": rules.data_class or "",
        "sample_percent": rules.sample_percent or None,
        "rubric": "\n".join(lines),
        "version": version,
    }


def _criterion(line: str) -> dict[str, str]:
    name, mark, rest = line.rpartition(":")
    is_plain = not mark or " ".join(rest.split()).casefold() != "pass or fail"
    if is_plain:
        return {"name": line, "kind": "scale"}
    return {"name": name.strip(), "kind": "pass_fail"}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
