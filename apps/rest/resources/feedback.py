"""Feedback on the answers of runs, by run and by the id of a completion."""

from __future__ import annotations

import re
import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import RATE, READ_RUNS
from apps.core.errors import InvalidInput
from apps.governance.models import COMMENT_LENGTH, VERIFIER, Rating
from apps.governance.selectors import feedback_list
from apps.governance.services import feedback_give, feedback_withdraw
from apps.governance.types import Feedback
from apps.rest.fields import Input, Number, Output, TextField, Time, Word
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.models import Run
from apps.runs.selectors import access_run

TAG = "Feedback"
COMPLETION = re.compile(r"(?:chatcmpl-|cmpl-|msg_|resp_)([0-9a-f]{32})")
EXAMPLE: dict[str, Any] = {
    "rating": "down",
    "outcome": {"score": 0.25, "source": "verifier"},
    "comment": "The second figure is of 2024.",
    "actor_name": "Build server",
    "updated_at": "2026-11-21T15:53:16.000000Z",
}
SENT = {"rating": "down", "comment": "The second figure is of 2024."}


class OutcomeInput(Input):
    """How right a verifier of yours found the answer."""

    score = Number(min_value=0, max_value=1, help_text="Right from 0.5 on.")
    source = Word(  # type: ignore[assignment]
        choices=[VERIFIER], help_text="Who found it: a program."
    )


class FeedbackInput(Input):
    """A rating, a verified outcome, or both."""

    rating = Word(choices=Rating.choices, required=False)
    outcome = OutcomeInput(required=False)
    comment = TextField(
        max_length=COMMENT_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Of the rating. Kept as long as the content of the run.",
    )


class CompletionFeedbackInput(FeedbackInput):
    """A rating or a verified outcome of a completion."""

    completion_id = TextField(
        max_length=60,
        help_text="The `id` of an answer under `/v1`: `chatcmpl-…`, `cmpl-…`, `resp_…` "
        "or `msg_…`.",
    )


class OutcomeOutput(Output):
    """How right a verifier of the caller found the answer."""

    score = serializers.FloatField(help_text="From 0 to 1, to a thousandth.")
    source = serializers.ChoiceField(choices=[VERIFIER])  # type: ignore[assignment]


class FeedbackOutput(Output):
    """What one person or program says of an answer."""

    rating = serializers.SerializerMethodField()
    outcome = serializers.SerializerMethodField()
    comment = serializers.CharField(
        allow_null=True, help_text="Null: it has been erased."
    )
    actor_name = serializers.CharField()
    updated_at = Time()

    @extend_schema_field(
        serializers.ChoiceField(
            choices=Rating.choices,
            allow_null=True,
            help_text="Null: there is only an outcome.",
        )
    )
    def get_rating(self, feedback: Feedback) -> str | None:
        """Return the rating, if there is one."""
        return feedback.rating or None

    @extend_schema_field(OutcomeOutput(allow_null=True))
    def get_outcome(self, feedback: Feedback) -> dict[str, Any] | None:
        """Return the outcome, if there is one."""
        if feedback.score is None:
            return None
        return {"score": feedback.score, "source": VERIFIER}


class RunFeedbackView(RestView):
    """What people and programs think of a run's answer."""

    tag = TAG
    rights = {"GET": READ_RUNS, "POST": RATE, "DELETE": RATE}

    @operation(
        "feedback_list",
        "List the feedback on a run",
        page_of=FeedbackOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return the ratings and verified outcomes, the newest first."""
        run = self._run(run_id)
        return self.listed(feedback_list(run.team_id, run.id), FeedbackOutput)

    @operation(
        "feedback_give",
        "Rate a run",
        body=FeedbackInput,
        answer=FeedbackOutput,
        errors=(409,),
        sent=SENT,
        example=EXAMPLE,
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Rate the answer of a run that has ended, or say how right it is.

        What you said before is replaced, the rating and the outcome each by itself.
        Verified outcomes count in the figures of the worker that gave the answer.
        """
        return _given(self, self._run(run_id), self.read(FeedbackInput))

    @operation("feedback_withdraw", "Take a rating back")
    def delete(self, request: Request, run_id: uuid.UUID) -> Response:
        """Take your rating and outcome back. The ledger keeps that they were given."""
        feedback_withdraw(run=self._run(run_id), actor=self.principal.actor)
        return Response(status=204)

    def _run(self, run_id: uuid.UUID) -> Run:
        return access_run(team_id=self.principal.team_id, run_id=run_id)


class CompletionFeedback(RestView):
    """Feedback by the id that an API client has."""

    tag = TAG
    rights = {"POST": RATE}

    @operation(
        "completion_feedback_give",
        "Rate a completion",
        body=CompletionFeedbackInput,
        answer=FeedbackOutput,
        errors=(409,),
        sent={"completion_id": "chatcmpl-0199c0de000070008000000000000001", **SENT},
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Rate an answer of the API under `/v1`, or say how right it is.

        As by the id of the run.
        """
        values = self.read(CompletionFeedbackInput)
        found = COMPLETION.fullmatch(values.pop("completion_id"))
        if found is None:
            message = "completion_id: expected an id like 'chatcmpl-…'"
            raise InvalidInput(message, param="completion_id")
        run_id = uuid.UUID(found[1])
        run = access_run(team_id=self.principal.team_id, run_id=run_id)
        return _given(self, run, values)


def _given(view: RestView, run: Run, values: dict[str, Any]) -> Response:
    actor = view.principal.actor
    feedback_give(run=run, actor=actor, **values)
    own = next(f for f in feedback_list(run.team_id, run.id) if f.actor_id == actor.id)
    return Response(FeedbackOutput(own).data)
