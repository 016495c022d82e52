"""What planners promised of requests, and what came of it."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_LEARNING, READ_LEARNING
from apps.pools.models import BrokenPromise
from apps.rest.fields import Output, Time
from apps.rest.resources.evaluation.learning import TAG
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.training.selectors import access_promise, planner_promises
from apps.training.services import promise_dismiss

BROKEN: dict[str, Any] = {
    "id": "01a227f7-58f4-7000-8cda-7ada8007b241",
    "worker": "sim-birch",
    "ability": "answer",
    "kind": 3,
    "run": "01a227f7-58f4-7000-8cda-7ada8007b242",
    "seen": 9.0,
    "promised": 0.94,
    "observed": 0.11,
    "noticed_at": "2026-11-29T16:20:00.000000Z",
    "dismissed_at": None,
    "dismissed_by": None,
}
INTERVAL: dict[str, float] = {"value": 0.65, "low": 0.5, "high": 0.78}
PROMISES: dict[str, Any] = {
    "pools": [
        {
            "pool": "demo",
            "version": 3,
            "runs": 40,
            "promised": 0.93,
            "observed": INTERVAL,
            "calibration_error": 0.28,
            "bins": [
                {
                    "least": 0.9,
                    "most": 1.0,
                    "runs": 40,
                    "promised": 0.93,
                    "observed": INTERVAL,
                }
            ],
            "broken": [{**BROKEN, "kind_words": "compute calculate is"}],
        }
    ]
}


class IntervalOutput(Output):
    """A share with its interval of 95 %."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class BrokenPromiseOutput(Output):
    """A worker's success that fell below what was promised."""

    id = serializers.UUIDField()
    worker = serializers.CharField()
    ability = serializers.CharField(
        help_text="answer: it answers; check: it corrects what others answered; plan: "
        "others answer by its plan."
    )
    kind = serializers.IntegerField(help_text="Of prompts, by the planner's version.")
    run = serializers.UUIDField(source="run_id", help_text="The run that decided.")
    seen = serializers.FloatField(
        help_text="Answers since success was last as promised, by weight."
    )
    promised = serializers.FloatField(help_text="Mean success promised for them.")
    observed = serializers.FloatField(help_text="Their mean success.")
    noticed_at = Time()
    dismissed_at = Time(
        allow_null=True,
        help_text="null: what was learned of it before counts little.",
    )
    dismissed_by = serializers.SerializerMethodField()

    def get_dismissed_by(self, promise: BrokenPromise) -> str | None:
        """Return who dismissed it; None: nobody did."""
        return promise.dismissed_by or None


class NoticedPromiseOutput(BrokenPromiseOutput):
    """The same with words that mark its kind of prompts."""

    kind_words = serializers.CharField()

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the promise and the words beside each other."""
        shown = BrokenPromiseOutput(instance.row).data
        return {**shown, "kind_words": instance.kind_words}


class PromiseBinOutput(Output):
    """Graded requests that were promised about the same success."""

    least = serializers.FloatField()
    most = serializers.FloatField()
    runs = serializers.IntegerField()
    promised = serializers.FloatField(help_text="Mean success that was promised.")
    observed = IntervalOutput(help_text="Share that was right.")


class PlannerPromisesOutput(Output):
    """What a version of a light planner promised since its fit."""

    pool = serializers.CharField()
    version = serializers.IntegerField()
    runs = serializers.IntegerField(help_text="Graded requests that it planned.")
    promised = serializers.FloatField(allow_null=True)
    observed = IntervalOutput(allow_null=True)
    calibration_error = serializers.FloatField(
        allow_null=True,
        help_text="Mean distance of promised and observed success over the bins. null: "
        "no request was graded.",
    )
    bins = PromiseBinOutput(many=True)
    broken = NoticedPromiseOutput(many=True, help_text="The newest first.")


class PromisesOutput(Output):
    """The promises of all planners in use."""

    pools = PlannerPromisesOutput(many=True)


class Promises(RestView):
    """What planners in use promised, and what came of it."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "learning_promises_get",
        "Compare promised with observed success",
        answer=PromisesOutput,
        example=PROMISES,
    )
    def get(self, request: Request) -> Response:
        """Return the promises of each planner in use since its fit.

        Requests count that were rated, verified or reviewed, with the team's consent.
        """
        shown = {"pools": planner_promises(self.principal.team_id)}
        return Response(PromisesOutput(shown).data)


class PromiseDismissal(RestView):
    """Takes back what a broken promise led to."""

    tag = TAG
    rights = {"POST": MANAGE_LEARNING}

    @operation(
        "learning_promise_dismiss",
        "Dismiss a broken promise",
        answer=BrokenPromiseOutput,
        example=BROKEN,
    )
    def post(self, request: Request, promise_id: uuid.UUID) -> Response:
        """Let what was learned of the worker before count again, within seconds.

        Only people may do so. It is recorded in the ledger.
        """
        promise = access_promise(self.principal.team_id, promise_id)
        return Response(
            BrokenPromiseOutput(
                promise_dismiss(promise=promise, actor=self.principal.actor)
            ).data
        )
