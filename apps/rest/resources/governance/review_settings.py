"""Which runs of the team are reviewed, and by what they are judged."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_REVIEWS, READ_REVIEW_SETTINGS
from apps.core.data_classes import DATA_CLASSES
from apps.governance.reviews.reads import review_settings
from apps.governance.reviews.rules import MAX_CRITERIA, ReviewDocument
from apps.governance.services import review_settings_replace
from apps.rest.fields import Flag, Input, Output, TextField, Time, Whole, Word
from apps.rest.schema import operation
from apps.rest.version_tags import IF_MATCH, etag_of, expected_version
from apps.rest.views import RestView

ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200],
    description='The version of the settings, like `"3"`; `"0"` before the first.',
)
SENT: dict[str, Any] = {
    "failures": True,
    "policy_hits": True,
    "thumbs_down": True,
    "cost_over_usd": "0.5",
    "data_class": None,
    "sample_percent": 20,
    "second_reviewer": False,
    "rubric": [
        {"name": "Correct", "kind": "scale"},
        {"name": "Safe", "kind": "pass_fail"},
    ],
}
EXAMPLE: dict[str, Any] = {
    "version": 3,
    "updated_at": "2026-11-21T15:53:16.000000Z",
    "updated_by": "Alice",
    **SENT,
}
RUBRIC_HELP = (
    f"At most {MAX_CRITERIA} criteria. `kind` is `scale` (1 to 5, 5 is best) or "
    "`pass_fail`."
)


class CriterionInput(Input):
    """What is judged."""

    name = TextField(max_length=40)
    kind = Word(choices=["scale", "pass_fail"], required=False)


class ReviewSettingsInput(Input):
    """All rules and the rubric; what is left out is off."""

    failures = Flag(required=False, help_text="Runs that failed.")
    policy_hits = Flag(
        required=False, help_text="Runs that a rule of the policy stopped or changed."
    )
    thumbs_down = Flag(required=False, help_text="Runs that somebody rates as bad.")
    cost_over_usd = TextField(
        required=False, allow_null=True, max_length=20, help_text="Runs that cost more."
    )
    data_class = Word(
        choices=DATA_CLASSES,
        required=False,
        allow_null=True,
        help_text="Runs whose prompt has this class or a higher one.",
    )
    sample_percent = Whole(
        min_value=0, max_value=100, required=False, help_text="This share of all runs."
    )
    second_reviewer = Flag(required=False, help_text="A verdict needs two people.")
    rubric = CriterionInput(many=True, required=False, help_text=RUBRIC_HELP)


class CriterionOutput(Output):
    """What is judged."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["scale", "pass_fail"])


class ReviewSettingsOutput(Output):
    """The rules and the rubric in force."""

    version = serializers.IntegerField(help_text="0: there never were any.")
    updated_at = Time(allow_null=True)
    updated_by = serializers.CharField(allow_null=True)
    failures = serializers.BooleanField()
    policy_hits = serializers.BooleanField()
    thumbs_down = serializers.BooleanField()
    cost_over_usd = serializers.CharField(allow_null=True)
    data_class = serializers.ChoiceField(choices=DATA_CLASSES, allow_null=True)
    sample_percent = serializers.IntegerField()
    second_reviewer = serializers.BooleanField()
    rubric = CriterionOutput(many=True, help_text=RUBRIC_HELP)


class ReviewSettingsView(RestView):
    """The rules that feed the review queue."""

    tag = "Reviews"
    rights = {"GET": READ_REVIEW_SETTINGS, "PUT": MANAGE_REVIEWS}

    @operation(
        "review_settings_get",
        "Read the rules of reviews",
        answer=ReviewSettingsOutput,
        parameters=[ETAG],
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return the rules and the rubric; the `ETag` is what a change must name."""
        return self._answer()

    @operation(
        "review_settings_replace",
        "Replace the rules of reviews",
        body=ReviewSettingsInput,
        answer=ReviewSettingsOutput,
        parameters=[IF_MATCH, ETAG],
        errors=(412, 428),
        sent=SENT,
        example=EXAMPLE,
    )
    def put(self, request: Request) -> Response:
        """Put these rules and this rubric in force. Only people may change them."""
        review_settings_replace(
            team=self.principal.team,
            values=self.read(ReviewSettingsInput),
            actor=self.principal.actor,
            expected_version=expected_version(request),
        )
        return self._answer()

    def _answer(self) -> Response:
        row = review_settings(self.principal.team_id)
        rules = ReviewDocument.model_validate(row.document)
        told = {
            "version": row.version,
            "updated_at": row.updated_at,
            "updated_by": row.actor_name or None,
            **rules.model_dump(mode="json"),
        }
        response = Response(ReviewSettingsOutput(told).data)
        response["ETag"] = etag_of(row.version)
        return response
