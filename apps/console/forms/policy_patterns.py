"""The form of a kind of sensitive data that the policy defines itself."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.governance.sensitive_data.own_patterns import MAX_PATTERN, OwnPattern

MAX_SAMPLE = 10_000


class PatternForm(ConsoleForm):
    """A name, a regular expression and a data class."""

    name = forms.CharField(
        label=_("Name"),
        max_length=30,
        help_text=_(
            "Lower-case letters, digits and underscores. Rules, findings and "
            "placeholders use it: [CUSTOMER_NUMBER_1]."
        ),
        error_messages={"required": _("Write a name.")},
        widget=forms.TextInput(
            attrs={"placeholder": "customer_number", "spellcheck": "false"}
        ),
    )
    pattern = forms.CharField(
        label=_("Pattern"),
        max_length=MAX_PATTERN,
        strip=False,
        help_text=_("A regular expression of RE2. (?i) at the beginning ignores case."),
        error_messages={"required": _("Write a pattern.")},
        widget=forms.TextInput(
            attrs={
                "placeholder": r"\bK-\d{6}\b",
                "class": "input input--code",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )
    data_class = forms.ChoiceField(
        label=_("Data class"),
        choices=[(name, _(name.capitalize())) for name in DATA_CLASSES],
        initial="confidential",
        help_text=_("A prompt in which it is found has this class, or a higher one."),
    )
    sample = forms.CharField(
        label=_("A text"),
        required=False,
        max_length=MAX_SAMPLE,
        help_text=_("Not saved, and not recorded."),
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": _("The order of customer K-123456.")}
        ),
    )
    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    def clean(self) -> dict[str, Any]:
        """Check the pattern, each fault beside its field."""
        data = super().clean() or {}
        if not self.errors:
            try:
                values_read(OwnPattern, self.values)
            except InvalidFields as error:
                self.take(error)
        return data

    @property
    def values(self) -> dict[str, Any]:
        """Return the pattern in the words of the service."""
        return {
            name: self.cleaned_data[name] for name in ("name", "pattern", "data_class")
        }

    @property
    def found(self) -> list[str]:
        """Return what the pattern finds in the text that it is tried on."""
        text = self.cleaned_data["sample"]
        pattern = values_read(OwnPattern, self.values)
        return [text[each.start : each.end] for each in pattern.findings(text)]
