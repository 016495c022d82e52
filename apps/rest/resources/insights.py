"""Insights of the team: queries, failures and plans."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_BUDGETS
from apps.insights.selectors import (
    anomaly_list,
    efficiency_audit,
    fault_report,
    query_report,
    shape_report,
)
from apps.insights.types import GROUPS, Inquiry
from apps.rest.fields import Query
from apps.rest.resources import insight_examples as examples
from apps.rest.resources.insight_outputs import (
    FaultReportOutput,
    QueryReportOutput,
    ShapeReportOutput,
)
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Insights"
USUAL_DAYS = 30
MOST_PLANS = 200
MAX_DAYS = 200
"""With the days before that they are compared with, a little more than a year."""


class InsightsQuery(Query):
    """Which days, and which runs."""

    since = serializers.DateField(
        required=False,
        help_text=f"The first day, of UTC. Without it there are {USUAL_DAYS} days.",
    )
    until = serializers.DateField(
        required=False, help_text="The last day. Without it: today."
    )
    with_tests = serializers.BooleanField(
        default=False,
        help_text="Count runs of evaluations and shadow tests as well.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Fill in the days and refuse a span that is empty or too long."""
        today = timezone.now().astimezone(UTC).date()
        until: date = attrs.get("until") or today
        try:
            since: date = attrs.get("since") or until - timedelta(days=USUAL_DAYS - 1)
        except OverflowError:
            since = until + timedelta(days=1)
        is_known = date(1971, 1, 1) < until <= today
        if not is_known or not timedelta() <= until - since < timedelta(days=MAX_DAYS):
            complaint = (
                f"expected a day not after today and from since on, {MAX_DAYS} days at "
                "most"
            )
            raise serializers.ValidationError({"until": [complaint]})
        return {**attrs, "since": since, "until": until}


class QueriesQuery(InsightsQuery):
    """What to add up by, and what to compare with."""

    group = serializers.ChoiceField(choices=GROUPS, default="day")
    worker = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=100,
        help_text="The worker of the baseline. Without it: the dearest one.",
    )


class InsightsView(RestView):
    """A report of a period."""

    tag = TAG
    rights = {"GET": READ_BUDGETS}

    def asked(self, taken: dict[str, Any]) -> Inquiry:
        """Return what is asked of the team."""
        now = timezone.now().astimezone(UTC)
        end = _midnight(taken["until"] + timedelta(days=1))
        return Inquiry(
            self.principal.team_id,
            _midnight(taken["since"]),
            min(end, now + timedelta(seconds=1)),
            taken["with_tests"],
        )


class InsightQueries(InsightsView):
    """What queries used."""

    @operation(
        "insights_queries",
        "Read what queries used",
        query=QueriesQuery,
        answer=QueryReportOutput,
        example=examples.QUERIES,
    )
    def get(self, request: Request) -> Response:
        """Return tokens, cost and latency of runs that began on some days.

        Days ascend; other rows come by cost, the dearest first. Latencies are those of
        answered runs. Percentiles are right to within 5 %. Runs of evaluations and
        shadow tests are left out unless `with_tests` is true. Families are those that
        callers name, and those of the tasks of evaluations.
        """
        taken = self.read_query(QueriesQuery)
        asked = self.asked(taken)
        report = query_report(asked, taken["group"], most=None)
        answer = {
            **taken,
            "rows": report.rows,
            "total": report.total,
            "before": report.before,
            "anomalies": anomaly_list(asked, report),
            "audit": efficiency_audit(asked, report.total, taken["worker"]),
            "is_complete": report.is_complete,
        }
        return Response(QueryReportOutput(answer).data)


class InsightFailures(InsightsView):
    """Which faults happened."""

    @operation(
        "insights_failures",
        "Read which faults happened",
        query=InsightsQuery,
        answer=FaultReportOutput,
        example=examples.FAILURES,
    )
    def get(self, request: Request) -> Response:
        """Return faults of calls, plans and runs, and loops, the most frequent first.

        With what rescued the runs, what was spent in vain, and the latest runs that had
        each. `count_before` is that of as many days before.
        """
        taken = self.read_query(InsightsQuery)
        report = fault_report(self.asked(taken))
        answer = {
            **taken,
            "runs": report.runs,
            "faults": report.faults,
            "loops": report.loops,
            "is_complete": report.is_complete,
        }
        return Response(FaultReportOutput(answer).data)


class InsightPlans(InsightsView):
    """Which plans were made."""

    @operation(
        "insights_plans",
        "Read which plans were made",
        query=InsightsQuery,
        answer=ShapeReportOutput,
        example=examples.PLANS,
    )
    def get(self, request: Request) -> Response:
        """Return the graphs of plans without their workers, the most frequent first.

        Of each run its newest plan. Ratings and verdicts are those given by now.
        """
        taken = self.read_query(InsightsQuery)
        report = shape_report(self.asked(taken))
        answer = {
            **taken,
            "runs": report.runs,
            "plans": report.rows[:MOST_PLANS],
            "is_complete": report.is_complete,
        }
        return Response(ShapeReportOutput(answer).data)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
