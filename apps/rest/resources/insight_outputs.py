"""Shapes of what the REST API tells of insights."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.insights.anomalies import MEASURES
from apps.insights.types import GROUPS
from apps.rest.fields import DollarsOut, Output


class PercentilesOutput(Output):
    """Two percentiles of milliseconds."""

    p50 = serializers.IntegerField(source="median")
    p95 = serializers.IntegerField()


class CostPercentilesOutput(Output):
    """Two percentiles of costs."""

    p50 = DollarsOut(source="median")
    p95 = DollarsOut()


class QueryFiguresOutput(Output):
    """What some queries used."""

    key = serializers.CharField(
        help_text="The day, a name, or the hexadecimal id of a member or key; empty: "
        "none."
    )
    label = serializers.CharField()  # type: ignore[assignment]
    runs = serializers.IntegerField()
    failed = serializers.IntegerField(
        help_text="Runs; for a worker, steps that failed."
    )
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost_usd = DollarsOut(source="cost_micros", help_text="The known part.")
    has_unknown_cost = serializers.BooleanField()
    cost_each_usd = CostPercentilesOutput(source="cost_each", allow_null=True)
    latency_ms = PercentilesOutput(allow_null=True)
    first_token_ms = PercentilesOutput(
        allow_null=True,
        help_text="From the beginning of the run to the first token of its answer.",
    )


class AnomalyOutput(Output):
    """A day that got worse than the 28 days before it."""

    day = serializers.DateField()
    measure = serializers.ChoiceField(choices=MEASURES)
    value = serializers.FloatField(
        help_text="Micro-dollars a run, a share of failed runs, or the 95th percentile "
        "of the latency in milliseconds."
    )
    usual = serializers.FloatField(help_text="The median of the days before.")
    score = serializers.FloatField(
        help_text="Robust standard deviations above it; marked from 3.5 on."
    )
    days = serializers.IntegerField(help_text="Days before that were compared.")


class BaselineOutput(Output):
    """One worker alone with the same prompts and answers: an estimate."""

    worker = serializers.CharField()
    runs = serializers.IntegerField(help_text="Answered runs that can be compared.")
    tokens = serializers.IntegerField(help_text="Of prompts and answers, estimated.")
    cost_usd = DollarsOut(source="cost_micros")
    used_tokens = serializers.IntegerField()
    used_cost_usd = DollarsOut(source="used_cost_micros")
    token_ratio = serializers.FloatField(allow_null=True)
    cost_ratio = serializers.FloatField(allow_null=True)


class SideOutput(Output):
    """One side of a comparison: means of a task or run."""

    name = serializers.CharField()
    cost_micros = serializers.FloatField()
    tokens = serializers.FloatField()
    right = serializers.FloatField(
        allow_null=True, help_text="Share of the tasks. Null: nobody looked."
    )


class MeasuredOutput(Output):
    """Two sides with the same tasks or prompts, as measured."""

    id = serializers.UUIDField(help_text="Of the evaluation or shadow test.")
    name = serializers.CharField()
    pairs = serializers.IntegerField()
    first = SideOutput()
    second = SideOutput()
    has_unknown_cost = serializers.BooleanField()
    token_ratio = serializers.FloatField(allow_null=True)
    cost_ratio = serializers.FloatField(allow_null=True)


class AuditOutput(Output):
    """What queries cost beside one worker alone."""

    baseline = BaselineOutput(
        allow_null=True, help_text="Estimated. Null: there is nothing to compare."
    )
    evaluation = MeasuredOutput(
        allow_null=True, help_text="Measured by the newest with a tier and a worker."
    )
    shadow_test = MeasuredOutput(
        allow_null=True, help_text="Measured by the newest with compared runs."
    )


class ReportOutput(Output):
    """A report of some days."""

    since = serializers.DateField()
    until = serializers.DateField()
    with_tests = serializers.BooleanField()
    is_complete = serializers.BooleanField(
        help_text="False: some runs have not been summed yet and are missing."
    )


class QueryReportOutput(ReportOutput):
    """What queries used."""

    group = serializers.ChoiceField(choices=GROUPS)
    rows = QueryFiguresOutput(many=True)
    total = QueryFiguresOutput()
    before = QueryFiguresOutput(help_text="The total of as many days before.")
    anomalies = AnomalyOutput(many=True)
    audit = AuditOutput()


class FaultFiguresOutput(Output):
    """One fault, or one kind of repeated work."""

    stage = serializers.CharField(
        help_text="`plan`, `step`, `run`, or `loop` for repeated work."
    )
    fault = serializers.CharField()
    worker = serializers.CharField(
        help_text="Empty: the conductor, a whole plan or a whole run."
    )
    count = serializers.IntegerField()
    count_before = serializers.IntegerField(source="before")
    runs = serializers.IntegerField(help_text="Runs that had it.")
    failed_runs = serializers.IntegerField(source="failed")
    cost_usd = DollarsOut(source="cost_micros", help_text="Spent in vain.")
    rescues: Any = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="`retry`, `substitute`, `replan`, `fallback`, `without` (the run "
        "answered without the step) or `none`: how often each followed.",
    )
    example_runs: Any = serializers.ListField(
        child=serializers.UUIDField(), source="examples"
    )


class FaultReportOutput(ReportOutput):
    """Faults and loops."""

    runs = serializers.IntegerField(help_text="All runs of these days.")
    faults = FaultFiguresOutput(many=True)
    loops = FaultFiguresOutput(many=True)


class ShapeFiguresOutput(Output):
    """Plans with the same graph."""

    shape = serializers.CharField(
        help_text="A digest of the graph; empty: there was no plan."
    )
    graph = serializers.CharField(
        source="words", help_text="Steps of each depth, for example `2 → 1`."
    )
    access: Any = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="The access lists of one of the plans.",
    )
    steps = serializers.IntegerField()
    runs = serializers.IntegerField()
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()
    tokens = serializers.IntegerField()
    cost_usd = DollarsOut(source="cost_micros", help_text="The known part.")
    has_unknown_cost = serializers.BooleanField()
    latency_ms = PercentilesOutput(allow_null=True)
    liked = serializers.IntegerField()
    disliked = serializers.IntegerField()
    passed = serializers.IntegerField(help_text="Verdicts of reviewers.")
    not_passed = serializers.IntegerField()
    example_runs: Any = serializers.ListField(
        child=serializers.UUIDField(), source="examples"
    )


class ShapeReportOutput(ReportOutput):
    """Plans by their graphs."""

    runs = serializers.IntegerField(help_text="All runs of these days.")
    plans = ShapeFiguresOutput(many=True)
