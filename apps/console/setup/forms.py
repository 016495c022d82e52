"""Several models of one provider: which of them work, and which one plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.forms.models import ProviderForm

MAX_MODELS = 20
"""Each of them is tested."""
MAX_LISTED = 200_000
"""Characters of a list of models: thousands of names."""


class AnyOfThem(forms.MultipleChoiceField):
    """Names that a provider listed, which is not asked again."""

    def valid_value(self, value: str) -> bool:
        """Take every name: the provider says in the test whether it is right."""
        return True


class ModelsForm(ProviderForm):
    """Models of one provider."""

    not_values: ClassVar[Sequence[str]] = (
        "secret",
        "models",
        "more_models",
        "planner",
        "listed",
    )

    models = AnyOfThem(required=False)
    more_models = forms.CharField(
        label=gettext_lazy("Other models"),
        required=False,
        max_length=4000,
        help_text=gettext_lazy("Names as the provider knows them, one a line."),
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    planner = forms.CharField(required=False, max_length=200)
    listed = forms.CharField(
        required=False, max_length=MAX_LISTED, widget=forms.HiddenInput
    )

    def __init__(self, *args: Any, is_known: bool, **kwargs: Any) -> None:
        """`is_known`: the provider is a known one, which says how it is asked."""
        super().__init__(*args, **kwargs)
        self.fields["max_tokens_field"].widget = forms.HiddenInput()
        if is_known:
            self.fields["protocol"].widget = forms.HiddenInput()

    @property
    def listed_models(self) -> list[str]:
        """Return what the provider listed before this form was sent."""
        return str(self["listed"].value() or "").splitlines()

    @property
    def marked(self) -> list[str]:
        """Return the models that are marked or typed, each once."""
        typed = str(self["more_models"].value() or "").splitlines()
        names = [*(self["models"].value() or []), *typed]
        return list(dict.fromkeys(name.strip() for name in names if name.strip()))

    def clean(self) -> dict[str, Any]:
        """Refuse none and too many models."""
        values = super().clean()
        count = len(self.marked)
        if not count:
            self.add_error("models", _("Mark at least one model."))
        elif count > MAX_MODELS:
            self.add_error(
                "models",
                _("Mark at most %(most)d models at a time; %(marked)d are marked.")
                % {"most": MAX_MODELS, "marked": count},
            )
        return values
