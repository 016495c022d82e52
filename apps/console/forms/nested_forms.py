"""Forms whose field names are the paths of a service's values.

The field `tiers.ultra.max_steps` fills `values["tiers"]["ultra"]["max_steps"]`, and a
service's complaint about that path comes back beside that field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.forms.boundfield import BoundField
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.core.errors import InvalidFields, InvalidInput
from apps.core.money import micros_of_usd

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

_INDEX = re.compile(r"\[\d+\]")


class PathForm(ConsoleForm):
    """A form that is read and complained about by paths."""

    not_values: ClassVar[Sequence[str]] = ()
    """Fields that are not passed to the service unchanged."""

    def values(self) -> dict[str, Any]:
        """Return what was entered, nested by the paths."""
        nested: dict[str, Any] = {}
        for path, value in self.cleaned_data.items():
            if path in self.not_values:
                continue
            *parents, name = path.split(".")
            part = nested
            for parent in parents:
                part = part.setdefault(parent, {})
            part[name] = value
        return nested

    def take(self, error: InvalidInput) -> None:
        """Show complaints beside the field, or the nearest field around the path."""
        if isinstance(error, InvalidFields):
            told: dict[str, list[str]] = {}
            for path, messages in error.fields.items():
                told.setdefault(self._nearest(path), []).extend(messages)
            error = InvalidFields(told)
        super().take(error)

    def keep(self, data: QueryDict) -> None:
        """Show what was typed so far without judging it: for buttons beside Save."""
        for name, field in self.fields.items():
            if isinstance(field, forms.MultipleChoiceField):
                self.initial[name] = data.getlist(name)
            elif isinstance(field, forms.BooleanField):
                self.initial[name] = name in data
            else:
                self.initial[name] = data.get(name, "")

    def group(self, prefix: str) -> list[BoundField]:
        """Return the fields under a path, in their order."""
        return [self[name] for name in self.fields if name.startswith(f"{prefix}.")]

    def _nearest(self, path: str) -> str:
        whole = _INDEX.sub("", path)
        name = whole
        while name and self.error_names.get(name, name) not in self.fields:
            name = name.rpartition(".")[0]
        return name or path


def whole_number(
    label: StrOrPromise, *, required: bool = False, hint: StrOrPromise = ""
) -> forms.IntegerField:
    """Return a field for a number of things, at least one."""
    widget = forms.NumberInput(attrs={"inputmode": "numeric"})
    return forms.IntegerField(
        label=label, required=required, min_value=1, help_text=hint, widget=widget
    )


def dollars(label: StrOrPromise, *, hint: StrOrPromise = "") -> forms.CharField:
    """Return a field for an amount. It stays text: the service reads it exactly."""
    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    return forms.CharField(
        label=label, required=False, max_length=20, help_text=hint, widget=widget
    )


def amount_checked(text: str) -> str:
    """Return an amount, or an empty text, as it is. Raises: ValidationError."""
    if text and micros_of_usd(text) is None:
        raise forms.ValidationError(_("Write an amount, such as 0.50."))
    return text


def answer_worth(usual: StrOrPromise) -> forms.CharField:
    """Return a field for what a right answer is worth; `usual`: if it stays empty."""
    return dollars(
        _("A right answer is worth, $"),
        hint=format_lazy(
            "{} {}",
            _(
                "A plan that costs one percent of it more has to be right one "
                "percentage point more often. 10000: cost does not count."
            ),
            usual,
        ),
    )


def name_field(what: StrOrPromise) -> forms.CharField:
    """Return a field for the name of a worker, conductor or pool."""
    return forms.CharField(
        label=_("Name"),
        max_length=64,
        help_text=format_lazy("{} {}", what, _("Letters, digits, “.”, “_” and “-”.")),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


def flattened(values: Mapping[str, Any], parent: str = "") -> dict[str, Any]:
    """Return nested values by their paths, as a form begins with them."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{parent}.{name}" if parent else name
        if isinstance(value, Mapping):
            flat.update(flattened(value, path))
        else:
            flat[path] = value
    return flat
