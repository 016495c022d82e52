"""What the pages of insights are asked of; all of it lives in the address."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_noop as _

from apps.console.forms.budgets import USAGE_DAYS
from apps.insights.types import GROUPS, Group, Inquiry

GROUP_WORDS: dict[Group, str] = {
    "day": _("Day"),
    "tier": _("Tier"),
    "planner": _("Planner"),
    "worker": _("Worker"),
    "key": _("API key"),
    "member": _("Member"),
    "family": _("Task family"),
    "source": _("Source"),
}
GROUP_TITLES: dict[Group, str] = {
    "day": _("By day"),
    "tier": _("By tier"),
    "planner": _("By planner"),
    "worker": _("By worker"),
    "key": _("By API key"),
    "member": _("By member"),
    "family": _("By task family"),
    "source": _("By source"),
}


class InsightsForm(forms.Form):
    """The period, the grouping and the reference; what makes no sense is ignored."""

    days = forms.ChoiceField(choices=list(USAGE_DAYS.items()), required=False)
    group = forms.ChoiceField(
        choices=[(group, GROUP_WORDS[group]) for group in GROUPS], required=False
    )
    tests = forms.BooleanField(required=False)
    """Runs of evaluations and shadow tests as well."""
    worker = forms.CharField(required=False, max_length=100)
    """The worker that would do everything alone."""

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.is_valid()

    @property
    def days_chosen(self) -> int:
        """Return the length of the period."""
        return int(self._get("days") or 30)

    @property
    def group_chosen(self) -> Group:
        """Return what to add up by."""
        return cast(Group, self._get("group") or "day")

    @property
    def with_tests(self) -> bool:
        """Say whether runs that no caller waits for count."""
        return bool(self._get("tests"))

    @property
    def worker_chosen(self) -> str:
        """Return the reference; empty: none is chosen."""
        return str(self._get("worker") or "")

    def asked(self, team_id: uuid.UUID, now: datetime) -> Inquiry:
        """Return what is asked of a team; `now` is of UTC."""
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        since = midnight - timedelta(days=self.days_chosen - 1)
        return Inquiry(team_id, since, now + timedelta(seconds=1), self.with_tests)

    def address(self, **changes: str) -> str:
        """Return the query of an address with some values changed."""
        values = {
            "days": str(self.days_chosen),
            "tests": "on" if self._get("tests") else "",
            **changes,
        }
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in values.items() if value})
        return query.urlencode()

    def _get(self, name: str) -> Any:
        return self.cleaned_data.get(name)
