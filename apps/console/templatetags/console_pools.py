"""Filters of the pages about pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def of(rows: Mapping[Any, Any], key: object) -> Any:
    """Return the row with a key; None: there is none."""
    return rows.get(key)


@register.filter
def change_value(value: object) -> str:
    """Return a value of a pool's version in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or "none"
    return str(value) or "empty"
