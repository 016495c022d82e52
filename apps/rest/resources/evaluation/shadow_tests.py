"""Shadow tests: a share of a tier's runs is sent to a candidate as well."""

from __future__ import annotations

import uuid
from dataclasses import asdict, replace
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_EVALUATIONS, READ_EVALUATIONS
from apps.audit.models import JobState
from apps.evaluation.models import ShadowTest
from apps.evaluation.promotions.promotion import candidate_demote
from apps.evaluation.shadow.models import ShadowOutcome
from apps.evaluation.shadow.report import pairs_with_opinions, shadow_report
from apps.evaluation.shadow.selectors import access_shadow, mirrored_of, shadow_list
from apps.evaluation.shadow.services import shadow_promote, shadow_start, shadow_stop
from apps.rest.fields import Input, Output, Time
from apps.rest.pagination import page_by_place
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
    "opinions": {
        "up": 4,
        "down": 1,
        "verdicts": {"pass": 2, "needs_change": 0, "fail": 1},
    },
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
OPINIONS: dict[str, Any] = {"up": 1, "down": 0, "verdict": "pass"}
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
    "original_opinions": OPINIONS,
    "opinions": {**OPINIONS, "up": 0},
}


class ShadowTestInput(Input):
    """What is mirrored, and to which candidate."""

    settings = serializers.DictField(
        help_text="Tier, candidate, share and limits. A candidate that is a tier may "
        "name a `conductor`, `max_rounds`, `max_steps`, `workers` and `pool_version`. "
        + FORMAT
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


class OpinionsOutput(Output):
    """What people think of a run."""

    up = serializers.IntegerField(help_text="Ratings of its answer as good.")
    down = serializers.IntegerField()
    verdict = serializers.CharField(
        help_text="Of its reviewers: pass, needs_change or fail. Empty: not reviewed."
    )


class MirroredRunOutput(Output):
    """An original run beside the candidate's."""

    original_run_id = serializers.UUIDField(source="pair.original_run_id")
    run_id = serializers.UUIDField(source="pair.run_id", help_text="The candidate's.")
    judging_run_id = serializers.UUIDField(
        source="pair.judging_run_id", allow_null=True
    )
    state = serializers.CharField(
        source="pair.state",
        help_text="pending, waiting, started, judged, done or skipped.",
    )
    cause = serializers.CharField(
        source="pair.cause", help_text="Why it was left out, or not judged."
    )
    agrees = serializers.BooleanField(
        source="pair.agrees", allow_null=True, help_text="Both final answers are equal."
    )
    judgement = serializers.CharField(
        source="pair.judgement",
        help_text="The better answer: original, candidate or same. Empty: not judged.",
    )
    original_error = serializers.CharField(source="pair.original_error")
    error = serializers.CharField(source="pair.error")
    original_cost_micros = serializers.IntegerField(source="pair.original_cost_micros")
    cost_micros = serializers.IntegerField(source="pair.cost_micros")
    original_latency_ms = serializers.IntegerField(source="pair.original_latency_ms")
    latency_ms = serializers.IntegerField(source="pair.latency_ms")
    original_opinions = OpinionsOutput(source="original")
    opinions = OpinionsOutput(source="candidate")


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
        """Return original runs, each with the candidate's, newest first."""
        test = _test(self, test_id)
        page = page_by_place(mirrored_of(test), **self.read_page())
        pairs = pairs_with_opinions(test.team_id, page.data)
        return self.paged(replace(page, data=pairs), MirroredRunOutput)


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

        409: no tier can be this candidate, or the test has fewer than 30 pairs with
        both answers, and the message says why; or it is so already.
        """
        shadow_promote(test=_test(self, test_id), principal=self.principal)
        return Response(ShadowTestOutput(_test(self, test_id)).data)

    @operation(
        "shadow_test_demote",
        "Take the promotion of a candidate back",
        errors=(409,),
    )
    def delete(self, request: Request, test_id: uuid.UUID) -> Response:
        """Let the tier become again what it was.

        409: it has been changed since, or something that it was is gone.
        """
        candidate_demote(test=_test(self, test_id), principal=self.principal)
        return Response(status=204)


def _test(view: RestView, test_id: uuid.UUID) -> ShadowTest:
    return access_shadow(team_id=view.principal.team_id, test_id=test_id)
