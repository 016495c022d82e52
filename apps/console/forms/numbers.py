"""Fields for amounts: whole numbers a minute, and money in dollars."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import MAX_REQUESTS_PER_MINUTE, MAX_TOKENS_PER_MINUTE

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

MAX_DOLLARS = Decimal(1_000_000_000)


def requests_per_minute() -> forms.IntegerField:
    """Return a field for a rate of requests; left empty there is no limit."""
    return _per_minute(_("Requests a minute"), MAX_REQUESTS_PER_MINUTE)


def tokens_per_minute() -> forms.IntegerField:
    """Return a field for a rate of tokens; left empty there is no limit."""
    return _per_minute(_("Tokens a minute"), MAX_TOKENS_PER_MINUTE)


def _per_minute(label: StrOrPromise, highest: int) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=1,
        max_value=highest,
        error_messages={"min_value": _("Write 1 or more, or nothing for no limit.")},
        widget=forms.NumberInput(attrs={"placeholder": _("No limit"), "min": 1}),
    )


def dollars(label: StrOrPromise, *, required: bool = True) -> forms.DecimalField:
    """Return a field for an amount of money, to the micro-dollar."""
    return forms.DecimalField(
        label=label,
        required=required,
        min_value=Decimal("0.000001"),
        max_value=MAX_DOLLARS,
        decimal_places=6,
        error_messages={
            "required": _("Write an amount in dollars."),
            "min_value": _("Write an amount above zero."),
            "max_value": _("That is too much: a billion dollars at most."),
        },
        widget=forms.NumberInput(attrs={"min": "0", "step": "any"}),
    )
