"""Shadow tests: a share of a tier's runs is sent to a candidate as well."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, READ_EVALUATIONS
from apps.audit.models import JobState
from apps.evaluation.models import ShadowTest
from apps.evaluation.shadow.models import ShadowOutcome
from apps.evaluation.shadow.promotion import shadow_demote, shadow_promote
from apps.evaluation.shadow.report import shadow_report
from apps.evaluation.shadow.selectors import access_shadow, mirrored_of, shadow_list
from apps.evaluation.shadow.services import shadow_start, shadow_stop
from apps.rest.fields import Input, Output, Time
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Shadow tests"
FORMAT = "docs/evaluation.md describes the fields."
SETTINGS: dict[str, Any] = {
    "name": "One worker for ultra",
    "pool": "default",
    "tier": "ultra",
    "candidate": {"kind": "worker", "worker": "a"},
    "percent": 10,
    "max_runs": 200,
    "max_cost_micros": 2_000_000,
}
SIDE = {
    "failures": 0,
    "cost_micros": 51_900,
    "tokens": 41_200,
    "latency_ms": [2_100, 4_800],
}
REPORT: dict[str, Any] = {
    "mirrored": 62,
    "open": 2,
    "compared": 60,
    "original": SIDE,
    "candidate": SIDE,
    "agreement": {"value": 0.9, "low": 0.8, "high": 0.95},
    "judgements": {"original": 1, "candidate": 2, "same": 3},
    "not_worse": {"value": 0.98, "low": 0.91, "high": 0.99},
    "spent_micros": 54_100,
    "judging_cost_micros": 2_200,
    "has_unknown_cost": False,
    "skipped": {"the original run was cancelled": 1},
}
TEST: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000051",
    "settings": SETTINGS,
    "state": "running",
    "error": "",
    "is_promoted": False,
    "report": REPORT,
    "started_by": "Alice",
    "since": "2026-11-23T15:53:16.000000Z",
    "until": "2026-11-30T15:53:16.000000Z",
    "created_at": "2026-11-23T15:53:16.000000Z",
    "finished_at": None,
}
PAIR: dict[str, Any] = {
    "original_run_id": "0199c0de-0000-7000-8000-000000000052",
    "run_id": "0199c0de-0000-7000-8000-000000000053",
    "judging_run_id": None,
    "state": "done",
    "cause": "",
    "agrees": True,
    "judgement": "",
    "original_error": "",
    "error": "",
    "original_cost_micros": 900,
    "cost_micros": 300,
    "original_latency_ms": 2_100,
    "latency_ms": 900,
}


class ShadowTestInput(Input):
    """What is mirrored, and to which candidate."""

    settings = serializers.DictField(
        help_text="Tier, candidate, share and limits. " + FORMAT
    )


class ShadowTestOutput(Output):
    """A shadow test."""

    id = serializers.UUIDField()
    settings = serializers.DictField()
    state = serializers.SerializerMethodField()
    error = serializers.CharField(help_text="Why it ended early. Empty: no fault.")
    is_promoted = serializers.SerializerMethodField()
    report = serializers.SerializerMethodField()
    started_by = serializers.SerializerMethodField()
    since = Time(help_text="Runs that began from then on are mirrored.")
    until = Time(help_text="Runs that began before then.")
    created_at = Time()
    finished_at = Time(allow_null=True)

    def get_state(self, test: ShadowTest) -> str:
        """Return running, stopping, or how it ended: completed, stopped, budget (the
        cost limit was reached) or failed.
        """
        if test.state == JobState.DONE:
            return str(ShadowOutcome(test.outcome))
        return "stopping" if test.is_stopped else "running"

    def get_is_promoted(self, test: ShadowTest) -> bool:
        """Say whether the tier is the candidate now, by this test."""
        return test.replaced is not None

    def get_report(self, test: ShadowTest) -> dict[str, Any]:
        """Return what it has found so far. docs/evaluation.md describes the fields."""
        return asdict(shadow_report(test))

    def get_started_by(self, test: ShadowTest) -> str:
        """Return the name of the person or key."""
        return str(test.requested_by.get("display", ""))


class MirroredRunOutput(Output):
    """A original run beside the candidate's."""

    original_run_id = serializers.UUIDField()
    run_id = serializers.UUIDField(help_text="The candidate's.")
    judging_run_id = serializers.UUIDField(allow_null=True)
    state = serializers.CharField(
        help_text="pending, waiting, started, judged, done or skipped."
    )
    cause = serializers.CharField(help_text="Why it was left out, or not judged.")
    agrees = serializers.BooleanField(
        allow_null=True, help_text="Both final answers are equal."
    )
    judgement = serializers.CharField(
        help_text="The better answer: original, candidate or same. Empty: not judged."
    )
    original_error = serializers.CharField()
    error = serializers.CharField()
    original_cost_micros = serializers.IntegerField()
    cost_micros = serializers.IntegerField()
    original_latency_ms = serializers.IntegerField()
    latency_ms = serializers.IntegerField()


class ShadowTests(RestView):
    """The shadow tests of the team."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS, "POST": MANAGE_EVALUATIONS}

    @operation(
        "shadow_test_list",
        "List shadow tests",
        page_of=ShadowTestOutput,
        example=TEST,
    )
    def get(self, request: Request) -> Response:
        """Return the shadow tests, newest first."""
        rows = shadow_list(self.principal.team_id)
        return self.listed(rows, ShadowTestOutput)

    @operation(
        "shadow_test_start",
        "Start a shadow test",
        body=ShadowTestInput,
        answer=ShadowTestOutput,
        status=202,
        errors=(404, 409),
        sent={"settings": SETTINGS},
        example=TEST,
    )
    def post(self, request: Request) -> Response:
        """Send a share of a tier's runs to a candidate as well, in the background.

        Its runs cost money and count towards budgets and rates. A key also needs
        `runs:create`, and `workers:direct` for a single worker or a grader. 409: too
        many shadow tests of the team have not ended.
        """
        asked = self.read(ShadowTestInput)
        principal = self.principal
        test = shadow_start(
            team=principal.team,
            values=asked["settings"],
            principal=principal,
            actor=principal.actor,
        )
        return Response(ShadowTestOutput(test).data, status=202)


class OneShadowTest(RestView):
    """One shadow test."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "shadow_test_get",
        "Read what a shadow test found",
        answer=ShadowTestOutput,
        example=TEST,
    )
    def get(self, request: Request, test_id: uuid.UUID) -> Response:
        """Return a shadow test."""
        return Response(ShadowTestOutput(_test(self, test_id)).data)


class ShadowTestRuns(RestView):
    """The runs of a shadow test."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "shadow_test_runs",
        "List the mirrored runs of a shadow test",
        page_of=MirroredRunOutput,
        example=PAIR,
    )
    def get(self, request: Request, test_id: uuid.UUID) -> Response:
        """Return original run, each with the candidate's, newest first."""
        return self.listed(mirrored_of(_test(self, test_id)), MirroredRunOutput)


class ShadowTestStop(RestView):
    """Stops a shadow test."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "shadow_test_stop",
        "Stop a shadow test",
        answer=ShadowTestOutput,
        example={**TEST, "state": "stopping"},
    )
    def post(self, request: Request, test_id: uuid.UUID) -> Response:
        """Mirror no further run and stop those in progress. One that ended stays."""
        shadow_stop(test=_test(self, test_id), actor=self.principal.actor)
        return Response(ShadowTestOutput(_test(self, test_id)).data)


class ShadowTestPromotion(RestView):
    """Whether a tier is the candidate of a shadow test."""

    tag = TAG
    rights = {"PUT": MANAGE_EVALUATIONS, "DELETE": MANAGE_EVALUATIONS}

    @operation(
        "shadow_test_promote",
        "Promote the candidate of a shadow test",
        answer=ShadowTestOutput,
        errors=(409,),
        example={**TEST, "is_promoted": True},
    )
    def put(self, request: Request, test_id: uuid.UUID) -> Response:
        """Let the tier become the candidate, from the next run on.

        400: no tier can be this candidate. 409: it is so already.
        """
        shadow_promote(test=_test(self, test_id), principal=self.principal)
        return Response(ShadowTestOutput(_test(self, test_id)).data)

    @operation(
        "shadow_test_demote",
        "Take the promotion of a candidate back",
        errors=(409,),
    )
    def delete(self, request: Request, test_id: uuid.UUID) -> Response:
        """Let the tier become again what it was. 409: it has been changed since."""
        shadow_demote(test=_test(self, test_id), principal=self.principal)
        return Response(status=204)


def _test(view: RestView, test_id: uuid.UUID) -> ShadowTest:
    return access_shadow(team_id=view.principal.team_id, test_id=test_id)
