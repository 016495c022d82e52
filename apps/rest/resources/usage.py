"""Usage of the team by day, worker, member or key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_BUDGETS
from apps.rest.fields import DollarsOut, Output, Query, Time
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.services import usage_report

GROUPS = ("day", "worker", "member", "key")
USUAL_DAYS = 30
MAX_DAYS = 400
"""A little more than a year, to compare one month with the same a year before."""
ROW: dict[str, Any] = {
    "label": "2026-11-21",
    "id": None,
    "runs": 12,
    "failed": 1,
    "prompt_tokens": 10240,
    "completion_tokens": 4096,
    "cost_usd": "0.0123",
    "has_unknown_cost": False,
}


class UsageQuery(Query):
    """What to add up by, and of which time."""

    group = serializers.ChoiceField(choices=GROUPS, default="day")
    since = serializers.DateTimeField(
        required=False,
        help_text=f"Without it: the beginning (UTC) of the day {USUAL_DAYS} days "
        "before `until`.",
    )
    until = serializers.DateTimeField(required=False, help_text="Without it: now.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Fill in the times and refuse a span that is empty or too long."""
        until: datetime = attrs.get("until") or timezone.now()
        try:
            since = attrs.get("since") or _usual_start(until)
        except OverflowError:
            since = until
        if not timedelta() < until - since <= timedelta(days=MAX_DAYS):
            complaint = f"expected a time after since, by at most {MAX_DAYS} days"
            raise serializers.ValidationError({"until": [complaint]})
        return {**attrs, "since": since, "until": until}


def _usual_start(until: datetime) -> datetime:
    # Whole days: those that are over have been added up already.
    day = until.astimezone(UTC) - timedelta(days=USUAL_DAYS)
    return day.replace(hour=0, minute=0, second=0, microsecond=0)


class UsageRowOutput(Output):
    """What one day, worker, member or key used."""

    label = serializers.CharField(help_text="The day, or a name.")  # type: ignore[assignment]
    id = serializers.UUIDField(allow_null=True, help_text="Of the member or key.")
    runs = serializers.IntegerField(
        allow_null=True, help_text="Null: not counted for what this row adds up."
    )
    failed = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost_usd = DollarsOut(source="cost_micros", help_text="The known part.")
    has_unknown_cost = serializers.BooleanField()


class UsageOutput(Output):
    """Usage, added up."""

    group = serializers.ChoiceField(choices=GROUPS)
    since = Time()
    until = Time()
    rows = UsageRowOutput(many=True)


class UsageView(RestView):
    """The usage of the team."""

    tag = "Budgets"
    rights = {"GET": READ_BUDGETS}

    @operation(
        "usage_get",
        "Read usage",
        query=UsageQuery,
        answer=UsageOutput,
        example={
            "group": "day",
            "since": "2026-10-22T00:00:00Z",
            "until": "2026-11-21T15:53:16Z",
            "rows": [ROW],
        },
    )
    def get(self, request: Request) -> Response:
        """Return what runs that began in a time used.

        Days ascend; the others come by cost, the dearest first. The rows of each
        grouping add up to the same cost.
        """
        asked = self.read_query(UsageQuery)
        group, since, until = asked["group"], asked["since"], asked["until"]
        rows = usage_report(
            team_id=self.principal.team_id, groups=(group,), since=since, until=until
        )[group]
        return Response(UsageOutput({**asked, "rows": rows}).data)
