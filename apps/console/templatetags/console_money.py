"""Money on the pages about budgets: amounts people chose, and what is left of them."""

from __future__ import annotations

from django import template

from apps.web import formats

register = template.Library()
CENT = 10_000
"""Micro-dollars."""


@register.filter
def usd(micros: int) -> str:
    """Return whole cents as such; other amounts with the digits that matter."""
    if micros % CENT:
        return formats.money(micros)
    return f"${micros // formats.MICROS:,}.{micros % formats.MICROS // CENT:02d}"
