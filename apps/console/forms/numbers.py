"""Fields for amounts: whole numbers a minute, and money in dollars."""

from __future__ import annotations

from decimal import Decimal

from django import forms

from apps.accounts.models import MAX_REQUESTS_PER_MINUTE, MAX_TOKENS_PER_MINUTE

MAX_DOLLARS = Decimal(1_000_000_000)


def requests_per_minute() -> forms.IntegerField:
    """Return a field for a rate of requests; left empty there is no limit."""
    return _per_minute("Requests a minute", MAX_REQUESTS_PER_MINUTE)


def tokens_per_minute() -> forms.IntegerField:
    """Return a field for a rate of tokens; left empty there is no limit."""
    return _per_minute("Tokens a minute", MAX_TOKENS_PER_MINUTE)


def _per_minute(label: str, highest: int) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=1,
        max_value=highest,
        error_messages={"min_value": "Write 1 or more, or nothing for no limit."},
        widget=forms.NumberInput(attrs={"placeholder": "No limit", "min": 1}),
    )


def dollars(label: str, *, required: bool = True) -> forms.DecimalField:
    """Return a field for an amount of money, to the micro-dollar."""
    return forms.DecimalField(
        label=label,
        required=required,
        min_value=Decimal("0.000001"),
        max_value=MAX_DOLLARS,
        decimal_places=6,
        error_messages={
            "required": "Write an amount in dollars.",
            "min_value": "Write an amount above zero.",
            "max_value": "That is too much: a billion dollars at most.",
        },
        widget=forms.NumberInput(
            attrs={"placeholder": "10.00", "min": "0", "step": "any"}
        ),
    )
