"""Reviewed runs as tasks of a suite."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, READ_REVIEWS
from apps.evaluation.suites.reviewed import suite_add_reviewed
from apps.rest.fields import Input, Output, TextField
from apps.rest.resources.evaluation.evaluations import TAG
from apps.rest.schema import operation
from apps.rest.views import RestView

ADDED: dict[str, Any] = {
    "suite": "reviewed",
    "version": 3,
    "tasks": 12,
    "is_new_version": True,
    "skipped": [
        {
            "run_id": "0199c0de-0000-7000-8000-000000000001",
            "title": "Compare these two contracts.",
            "reason": "it has tools",
        }
    ],
}


class ReviewedSuiteInput(Input):
    """Which suite, and how answers are verified."""

    name = TextField(max_length=80, help_text="Of the suite; a new name makes one.")
    verifier = serializers.ChoiceField(
        choices=["exact", "numeric", "model_graded"], default="model_graded"
    )
    rubric = TextField(
        required=False,
        help_text="What a right answer must have; for `model_graded`, which compares "
        "with the right answer.",
    )
    family = TextField(required=False, max_length=60, help_text="Default: `reviewed`.")


class SkippedRunOutput(Output):
    """A reviewed run that cannot be a task."""

    run_id = serializers.UUIDField()
    title = serializers.CharField(help_text="Empty if it has been erased.")
    reason = serializers.CharField()


class ReviewedAdditionOutput(Output):
    """What became of the reviewed runs."""

    suite = serializers.CharField(allow_null=True, source="version.suite.name")
    version = serializers.IntegerField(
        allow_null=True,
        source="version.number",
        help_text="Null: there was nothing to add, and no such suite.",
    )
    tasks = serializers.IntegerField(help_text="Reviewed runs that are in it.")
    is_new_version = serializers.BooleanField(source="is_new")
    skipped = SkippedRunOutput(many=True)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the answer's values; without a version neither name nor number."""
        if instance.version is None:
            skipped = SkippedRunOutput(instance.skipped, many=True).data
            none = {"suite": None, "version": None, "tasks": 0}
            return {**none, "is_new_version": False, "skipped": skipped}
        return super().to_representation(instance)


class ReviewedSuites(RestView):
    """Makes tasks of reviewed runs."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "suite_add_reviewed",
        "Add reviewed runs to a suite",
        body=ReviewedSuiteInput,
        answer=ReviewedAdditionOutput,
        sent={"name": "reviewed", "verifier": "exact"},
        example=ADDED,
    )
    def post(self, request: Request) -> Response:
        """Add the runs that reviewers marked as tasks to a suite, or make it of them.

        The new version has the tasks of the one before and these; what is in it already
        makes no new one. The newest 500 such runs are looked at. A key also needs
        `audit:read`.
        """
        self.principal.require(READ_REVIEWS)
        values = self.read(ReviewedSuiteInput)
        added = suite_add_reviewed(
            team=self.principal.team,
            name=values.pop("name"),
            values=values,
            actor=self.principal.actor,
        )
        return Response(ReviewedAdditionOutput(added).data)
