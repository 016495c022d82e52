"""Several models of one provider: which of them work, and which one plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.forms.models import ProviderForm
from apps.console.forms.nested_forms import PathForm, dollars
from apps.console.setup.rows import PriceGap
from apps.pools.models import Conductor, Worker

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


class PricesForm(PathForm):
    """The prices of models that have none: an amount for what they read and write."""

    def __init__(self, *args: Any, gaps: Sequence[PriceGap], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.gaps = gaps
        for gap in gaps:
            self.fields[f"{gap.key}.input_usd"] = dollars(gettext_lazy("Input"))
            self.fields[f"{gap.key}.output_usd"] = dollars(gettext_lazy("Output"))
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    @property
    def rows(self) -> list[tuple[PriceGap, list[BoundField]]]:
        """Return each model that lacks a price, with the fields of its price."""
        return [(gap, self.group(gap.key)) for gap in self.gaps]

    @property
    def prices(self) -> list[tuple[Worker | Conductor, dict[str, str]]]:
        """Return what was typed, for every worker and conductor of a model."""
        typed = self.values()
        return [
            (model, typed[gap.key])
            for gap in self.gaps
            for model in gap.models
            if any(typed[gap.key].values())
        ]

    def clean(self) -> dict[str, Any]:
        """Refuse half a price, and a form without any."""
        values = self.cleaned_data
        for gap in self.gaps:
            names = [f"{gap.key}.{part}_usd" for part in ("input", "output")]
            missing = [name for name in names if not values.get(name)]
            if len(missing) == 1:
                self.add_error(missing[0], _("Write both amounts; 0 if it is free."))
        if not any(values.values()):
            self.add_error(None, _("Write the price of at least one model."))
        return values
