"""A/B tests: a candidate answers the callers of a share of a tier's API keys."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, READ_EVALUATIONS
from apps.evaluation.ab.report import ab_report
from apps.evaluation.ab.selectors import ab_list, access_ab_test
from apps.evaluation.ab.services import ab_promote, ab_start, ab_stop
from apps.evaluation.models import ABTest
from apps.evaluation.promotions.promotion import candidate_demote
from apps.rest.fields import Input, Output, Time
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "A/B tests"
FORMAT = "docs/evaluation.md describes the fields."
SETTINGS: dict[str, Any] = {
    "name": "One worker for ultra",
    "pool": "default",
    "tier": "ultra",
    "candidate": {"kind": "worker", "worker": "a"},
    "percent": 20,
    "days": 14,
    "max_runs": 1_000,
}
SHARE: dict[str, Any] = {"value": 0.02, "low": 0.01, "high": 0.05}
ARM: dict[str, Any] = {
    "runs": 240,
    "keys": 6,
    "open": 1,
    "cancelled": 0,
    "failed": 5,
    "failures": SHARE,
    "cost_micros": 210_400,
    "has_unknown_cost": False,
    "tokens": 164_200,
    "latency_ms": [2_100, 4_800],
    "opinions": {
        "up": 14,
        "down": 2,
        "verdicts": {"pass": 6, "needs_change": 1, "fail": 0},
    },
    "rated_good": {"value": 0.88, "low": 0.64, "high": 0.97},
    "passed": {"value": 0.86, "low": 0.49, "high": 0.97},
}
REPORT: dict[str, Any] = {
    "a": ARM,
    "b": ARM,
    "failures": {"value": 0.0, "low": -0.03, "high": 0.03},
    "rated_good": {"value": 0.0, "low": -0.25, "high": 0.25},
    "passed": None,
}
TEST: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000055",
    "settings": SETTINGS,
    "state": "running",
    "error": "",
    "is_promoted": False,
    "report": REPORT,
    "started_by": "Alice",
    "until": "2026-12-07T15:53:16.000000Z",
    "created_at": "2026-11-23T15:53:16.000000Z",
    "finished_at": None,
}


class ABTestInput(Input):
    """A tier, and the candidate that answers a share of the keys."""

    settings = serializers.DictField(
        help_text="Tier, candidate, share and limits. A candidate that is a tier may "
        "name a `conductor`, `max_rounds`, `max_steps`, `workers` and `pool_version`. "
        + FORMAT
    )


class ABTestOutput(Output):
    """An A/B test."""

    id = serializers.UUIDField()
    settings = serializers.DictField()
    state = serializers.SerializerMethodField()
    error = serializers.CharField(help_text="Why it ended early. Empty: no fault.")
    is_promoted = serializers.SerializerMethodField()
    report = serializers.SerializerMethodField()
    started_by = serializers.SerializerMethodField()
    until = Time(help_text="Then it ends by itself.")
    created_at = Time()
    finished_at = Time(allow_null=True)

    def get_state(self, test: ABTest) -> str:
        """Return running, or how it ended: completed, stopped or failed."""
        return test.outcome or "running"

    def get_is_promoted(self, test: ABTest) -> bool:
        """Say whether the tier is the candidate now, by this test."""
        return test.replaced is not None

    def get_report(self, test: ABTest) -> dict[str, Any]:
        """Return both arms and the differences, B minus A, each null while an arm has
        none. docs/evaluation.md describes the fields.
        """
        return asdict(ab_report(test))

    def get_started_by(self, test: ABTest) -> str:
        """Return the name of the person or key."""
        return str(test.requested_by.get("display", ""))


class ABTests(RestView):
    """The A/B tests of the team."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS, "POST": MANAGE_EVALUATIONS}

    @operation("ab_test_list", "List A/B tests", page_of=ABTestOutput, example=TEST)
    def get(self, request: Request) -> Response:
        """Return the A/B tests, newest first."""
        return self.listed(ab_list(self.principal.team_id), ABTestOutput)

    @operation(
        "ab_test_start",
        "Start an A/B test",
        body=ABTestInput,
        answer=ABTestOutput,
        status=201,
        errors=(404, 409),
        sent={"settings": SETTINGS},
        example=TEST,
    )
    def post(self, request: Request) -> Response:
        """Let a candidate answer the callers of a share of the keys from now on.

        A key also needs `workers:direct` for a single worker. 409: the tier is in an
        A/B test already.
        """
        asked = self.read(ABTestInput)
        principal = self.principal
        test = ab_start(
            team=principal.team, values=asked["settings"], principal=principal
        )
        return self.created(ABTestOutput(test).data, f"/api/v1/ab-tests/{test.id}/")


class OneABTest(RestView):
    """One A/B test."""

    tag = TAG
    rights = {"GET": READ_EVALUATIONS}

    @operation(
        "ab_test_get",
        "Read what an A/B test found",
        answer=ABTestOutput,
        example=TEST,
    )
    def get(self, request: Request, ab_test_id: uuid.UUID) -> Response:
        """Return an A/B test."""
        return Response(ABTestOutput(_test(self, ab_test_id)).data)


class ABTestStop(RestView):
    """Stops an A/B test."""

    tag = TAG
    rights = {"POST": MANAGE_EVALUATIONS}

    @operation(
        "ab_test_stop",
        "Stop an A/B test",
        answer=ABTestOutput,
        example={**TEST, "state": "stopped"},
    )
    def post(self, request: Request, ab_test_id: uuid.UUID) -> Response:
        """Let the tier answer all keys again. One that ended stays."""
        test = _test(self, ab_test_id)
        ab_stop(test=test, actor=self.principal.actor)
        return Response(ABTestOutput(_test(self, ab_test_id)).data)


class ABTestPromotion(RestView):
    """Whether a tier is the candidate of an A/B test."""

    tag = TAG
    rights = {"PUT": MANAGE_EVALUATIONS, "DELETE": MANAGE_EVALUATIONS}

    @operation(
        "ab_test_promote",
        "Promote the candidate of an A/B test",
        answer=ABTestOutput,
        errors=(409,),
        example={**TEST, "state": "stopped", "is_promoted": True},
    )
    def put(self, request: Request, ab_test_id: uuid.UUID) -> Response:
        """Let the tier become the candidate for all, which ends the test.

        409: no tier can be this candidate, and the message says why; or it is so
        already.
        """
        ab_promote(test=_test(self, ab_test_id), principal=self.principal)
        return Response(ABTestOutput(_test(self, ab_test_id)).data)

    @operation(
        "ab_test_demote",
        "Take the promotion of a candidate back",
        errors=(409,),
    )
    def delete(self, request: Request, ab_test_id: uuid.UUID) -> Response:
        """Let the tier become again what it was.

        409: it has been changed since, or something that it was is gone.
        """
        candidate_demote(test=_test(self, ab_test_id), principal=self.principal)
        return Response(status=204)


def _test(view: RestView, ab_test_id: uuid.UUID) -> ABTest:
    return access_ab_test(team_id=view.principal.team_id, test_id=ab_test_id)
