"""Subtasks of graded runs, compared by what came of them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_LEARNING
from apps.rest.fields import Output, Query
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.training.services import FEWEST_USES, subtasks_compare

SUBTASKS: dict[str, Any] = {
    "pool": "default",
    "runs": 480,
    "older_runs": 0,
    "rare_texts": 12,
    "is_full": False,
    "outcomes": [
        {
            "role": "check",
            "family": "sums",
            "text": "Check the draft, correct any fault, and give the whole answer.",
            "planners": ["language_model"],
            "uses": 80,
            "right": 72,
            "success": {"value": 0.9, "low": 0.815, "high": 0.9485},
            "mean_cost_micros": 41,
        }
    ],
}


class SubtasksQuery(Query):
    """Of which runs and steps."""

    pool = serializers.CharField(
        required=False, max_length=100, help_text="Without it: the default pool."
    )
    family = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=60,
        help_text="Of the runs; empty: runs without one. Without it: all.",
    )
    worker = serializers.CharField(
        required=False,
        max_length=100,
        help_text="Only steps that it answered. Without it: all.",
    )


class ShareOutput(Output):
    """A share of runs, with its interval of 95 %."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class SubtaskOutput(Output):
    """Subtasks in the same words."""

    role = serializers.CharField(help_text="plan, solve, check or combine.")
    family = serializers.CharField(help_text="Of the runs. Empty: they have none.")
    text = serializers.CharField(
        help_text="… stands for a quotation and # for a number; 1,000 characters at "
        "most."
    )
    planners = serializers.ListField(
        child=serializers.CharField(), help_text="Who wrote it."
    )
    uses = serializers.IntegerField(help_text="Runs whose answering plan had it.")
    right = serializers.IntegerField(help_text="Of these, with a right answer.")
    success = ShareOutput()
    mean_cost_micros = serializers.IntegerField(
        allow_null=True, help_text="Of its steps in a run. null: unknown."
    )


class SubtaskComparisonOutput(Output):
    """The subtasks of a pool's newest graded runs."""

    pool = serializers.CharField()
    runs = serializers.IntegerField(help_text="That were read.")
    older_runs = serializers.IntegerField(help_text="Left out: they are older.")
    rare_texts = serializers.IntegerField(
        help_text=f"Left out: fewer than {FEWEST_USES} runs had them."
    )
    is_full = serializers.BooleanField(
        help_text="True: so many texts differ that some are not counted."
    )
    outcomes = SubtaskOutput(many=True)


class LearningSubtasks(RestView):
    """What workers were asked, and how often the answer was right."""

    tag = "Learning"
    rights = {"GET": READ_LEARNING}

    @operation(
        "learning_subtasks",
        "Compare subtasks by outcome",
        query=SubtasksQuery,
        answer=SubtaskComparisonOutput,
        example=SUBTASKS,
    )
    def get(self, request: Request) -> Response:
        """Return subtasks of the newest 1,000 graded runs, by family and role.

        Each reading is recorded in the ledger.
        """
        asked = self.read_query(SubtasksQuery)
        found = subtasks_compare(
            team=self.principal.team,
            pool=asked.get("pool"),
            family=asked.get("family"),
            worker=asked.get("worker", ""),
            actor=self.principal.actor,
        )
        return Response(SubtaskComparisonOutput(found).data)
