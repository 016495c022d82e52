"""Filters of the pages about pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.translation import gettext as _

from apps.console.pool_pages import health_words
from apps.pools.types import HealthState, PlanningNotice, WorkerHealth

register = template.Library()


@register.filter
def of(rows: Mapping[Any, Any], key: object) -> Any:
    """Return the row with a key; None: there is none."""
    return rows.get(key)


@register.filter
def change_value(value: object) -> str:
    """Return a value of a pool's version in words."""
    if value is None:
        return _("nothing")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or _("none")
    return str(value) or _("empty")


@register.filter
def health_word(state: HealthState) -> str:
    """Return the word for how a worker is doing."""
    return health_words.state_word(state)


@register.filter
def health_reason(health: WorkerHealth) -> str:
    """Return what that rests on."""
    return health_words.health_reason(health)


@register.filter
def notice_words(notice: PlanningNotice) -> str:
    """Return why a pool plans less than its settings suggest."""
    return _(notice.text) % notice.names
