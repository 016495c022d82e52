"""What evaluations found: reports, results, and two of them side by side."""

from __future__ import annotations

import uuid
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_EVALUATIONS
from apps.evaluation.reports.comparison import SystemComparison, compare, others_of
from apps.evaluation.reports.inspect_log import inspect_log, inspect_name
from apps.evaluation.reports.report import report_make, result_rows
from apps.evaluation.reports.report_formats import (
    interval_values,
    report_values,
    results_csv,
)
from apps.rest.fields import Output
from apps.rest.pagination import PageQuery, page_by_place
from apps.rest.resources.evaluation.evaluations import (
    EVALUATION,
    FORMAT,
    SETTINGS,
    TAG,
    evaluation_of,
)
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.web.downloads import download

CSV_TYPE = "text/csv"
JSON_TYPE = "application/json"
INTERVAL = {"value": 0.9, "low": 0.8, "high": 0.95}
FIGURES = {
    "ended": 60,
    "right": 54,
    "accuracy": INTERVAL,
    "difference_to_best_single": {"value": 0.1, "low": 0.02, "high": 0.19},
    "tokens": 41_200,
    "cost_micros": 51_900,
    "has_unknown_cost": False,
    "steps": 130,
    "latency_ms": {"p50": 2_100, "p95": 4_800},
    "worker_shares": {"a": 0.75, "b": 0.25},
}
REPORT: dict[str, Any] = {
    "id": EVALUATION["id"],
    "suite": "basics",
    "suite_version": 1,
    "suite_digest": "0" * 64,
    "is_simulated": False,
    "settings": SETTINGS,
    "state": "done",
    "outcome": "completed",
    "error": "",
    "tasks": 60,
    "best_single_worker": "a",
    "oracle": INTERVAL,
    "systems": [
        {
            "system": "conductor (ultra)",
            "kind": "tier",
            "failed": 0,
            **FIGURES,
            "difference_to_oracle": {"value": -0.05, "low": -0.11, "high": 0.01},
            "grading_cost_micros": 0,
            "unplanned": 0,
            "rejected_plans": 1,
            "plan_faults": {"unparseable": 1},
            "causes": {},
            "families": {"sums": FIGURES},
        }
    ],
}
COMPARISON: dict[str, Any] = {
    "earlier": EVALUATION["id"],
    "later": "0199c0de-0000-7000-8000-000000000043",
    "is_simulated": False,
    "systems": [
        {
            "system": "a",
            "tasks": 60,
            "earlier": INTERVAL,
            "later": INTERVAL,
            "difference": {"value": 0.0, "low": -0.09, "high": 0.09},
            "became_right": 1,
            "became_wrong": 1,
        }
    ],
    "changed": [
        {
            "system": "a",
            "task": "sum-1",
            "is_right": True,
            "earlier_run_id": "0199c0de-0000-7000-8000-000000000044",
            "later_run_id": "0199c0de-0000-7000-8000-000000000045",
        }
    ],
    "next_cursor": None,
}


class EvaluationReportOutput(Output):
    """What an evaluation found, as far as it is."""

    id = serializers.UUIDField()
    suite = serializers.CharField()
    suite_version = serializers.IntegerField()
    suite_digest = serializers.CharField()
    is_simulated = serializers.BooleanField()
    settings = serializers.DictField()
    state = serializers.CharField()
    outcome = serializers.CharField(allow_null=True)
    error = serializers.CharField()
    tasks = serializers.IntegerField(help_text="Tasks that each system gets.")
    best_single_worker = serializers.CharField(
        allow_null=True, help_text="Chosen in hindsight."
    )
    oracle = serializers.DictField(
        allow_null=True, help_text="Share of tasks that any of the systems had right."
    )
    systems = serializers.ListField(child=serializers.DictField(), help_text=FORMAT)


class ComparisonQuery(PageQuery):
    """What an evaluation is compared with, and which page of the changed tasks."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; the name of one is a word of Python's own."""
        other = serializers.UUIDField(
            required=False,
            help_text="Id of the other evaluation. Default: the newest one of the "
            "suite.",
        )
        return {**super().get_fields(), "with": other}


class EvaluationReport(RestView):
    """The report of an evaluation."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "evaluation_report",
        "Read what an evaluation found",
        answer=EvaluationReportOutput,
        example=REPORT,
    )
    def get(self, request: Request, evaluation_id: uuid.UUID) -> Response:
        """Return the report, as far as the evaluation is."""
        report = report_make(evaluation_of(self, evaluation_id))
        return Response(EvaluationReportOutput(report_values(report)).data)


class EvaluationResults(RestView):
    """Each result of an evaluation."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation("evaluation_results", "Download the results as CSV", file_type=CSV_TYPE)
    def get(self, request: Request, evaluation_id: uuid.UUID) -> HttpResponseBase:
        """Return a line for each task and system, with the id of its run."""
        evaluation = evaluation_of(self, evaluation_id)
        report = report_make(evaluation)
        rows = results_csv(report, result_rows(evaluation))
        lines = (line.encode() for line in rows)
        name = f"evaluation-{evaluation.id}.csv"
        return download(request._request, lines, name=name, kind=CSV_TYPE)


class EvaluationInspect(RestView):
    """One system of an evaluation as a log of Inspect."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "evaluation_inspect",
        "Download what a system did as a log of Inspect",
        file_type=JSON_TYPE,
    )
    def get(
        self, request: Request, evaluation_id: uuid.UUID, place: int
    ) -> HttpResponseBase:
        """Return the log of the system at this place in the settings, from 0.

        `inspect_ai.log.read_eval_log` reads it.
        """
        report = report_make(evaluation_of(self, evaluation_id))
        parts, name = inspect_log(report, place), inspect_name(report, place)
        return download(request._request, parts, name=name, kind=JSON_TYPE)


class ComparedSystemOutput(Output):
    """A system in both evaluations."""

    system = serializers.CharField(source="label")
    tasks = serializers.IntegerField(help_text="That both have ended.")
    earlier = serializers.SerializerMethodField(help_text="Accuracy. Null: no tasks.")
    later = serializers.SerializerMethodField(help_text="Accuracy. Null: no tasks.")
    difference = serializers.SerializerMethodField(help_text="Later less earlier.")
    became_right = serializers.IntegerField()
    became_wrong = serializers.IntegerField()

    def get_earlier(self, system: SystemComparison) -> dict[str, float] | None:
        """Return the earlier accuracy with its interval."""
        return interval_values(system.earlier)

    def get_later(self, system: SystemComparison) -> dict[str, float] | None:
        """Return the later accuracy with its interval."""
        return interval_values(system.later)

    def get_difference(self, system: SystemComparison) -> dict[str, float] | None:
        """Return the paired difference with its interval."""
        return interval_values(system.difference)


class ChangedTaskOutput(Output):
    """A task that a system had right in one of the two."""

    system = serializers.CharField()
    task = serializers.CharField()
    is_right = serializers.BooleanField(help_text="In the later one.")
    earlier_run_id = serializers.UUIDField()
    later_run_id = serializers.UUIDField()


class ComparisonOutput(Output):
    """Two evaluations of a suite on the tasks that both have ended."""

    earlier = serializers.UUIDField(
        allow_null=True, help_text="Null: there is no other evaluation of the suite."
    )
    later = serializers.UUIDField()
    is_simulated = serializers.BooleanField()
    systems = ComparedSystemOutput(many=True)
    changed = ChangedTaskOutput(many=True, help_text="A page of them.")
    next_cursor = serializers.CharField(
        allow_null=True, help_text="Of the changed tasks. Null: this was the last page."
    )


class EvaluationComparison(RestView):
    """An evaluation beside another one."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "evaluation_comparison",
        "Compare two evaluations of a suite",
        query=ComparisonQuery,
        answer=ComparisonOutput,
        example=COMPARISON,
    )
    def get(self, request: Request, evaluation_id: uuid.UUID) -> Response:
        """Return the systems of both, and the tasks that changed, page by page.

        400: the other one is of another suite.
        """
        asked = self.read_page(ComparisonQuery)
        named = asked.pop("with", None)
        one = evaluation_of(self, evaluation_id)
        other = evaluation_of(self, named) if named else others_of(one).first()
        found = compare(one, other) if other else None
        page = page_by_place(found.changed if found else [], **asked)
        values = {
            "earlier": found.earlier.id if found else None,
            "later": found.later.id if found else one.id,
            "is_simulated": found.is_simulated if found else one.is_simulated,
            "systems": found.systems if found else (),
            "changed": page.data,
            "next_cursor": page.next_cursor,
        }
        return Response(ComparisonOutput(values).data)
