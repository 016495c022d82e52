"""Feedback on the answers of runs, by run and by the id of a completion."""

from __future__ import annotations

import re
import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import RATE, READ_RUNS
from apps.core.errors import InvalidInput
from apps.governance.models import COMMENT_LENGTH, Rating
from apps.governance.selectors import feedback_list
from apps.governance.services import feedback_give, feedback_withdraw
from apps.rest.fields import Input, Output, TextField, Time, Word
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.models import Run
from apps.runs.selectors import access_run

TAG = "Feedback"
COMPLETION = re.compile(r"(?:chatcmpl-|cmpl-|msg_|resp_)([0-9a-f]{32})")
EXAMPLE: dict[str, Any] = {
    "rating": "down",
    "comment": "The second figure is of 2024.",
    "actor_name": "Build server",
    "updated_at": "2026-11-21T15:53:16.000000Z",
}
SENT = {"rating": "down", "comment": "The second figure is of 2024."}


class FeedbackInput(Input):
    """A rating."""

    rating = Word(choices=Rating.choices)
    comment = TextField(
        max_length=COMMENT_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Kept as long as the content of the run.",
    )


class CompletionFeedbackInput(FeedbackInput):
    """A rating of a completion."""

    completion_id = TextField(
        max_length=60,
        help_text="The `id` of an answer under `/v1`: `chatcmpl-…`, `cmpl-…`, `resp_…` "
        "or `msg_…`.",
    )


class FeedbackOutput(Output):
    """A rating of a run."""

    rating = serializers.ChoiceField(choices=Rating.choices)
    comment = serializers.CharField(
        allow_null=True, help_text="Null: it has been erased."
    )
    actor_name = serializers.CharField()
    updated_at = Time()


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
        """Return the ratings, the newest first."""
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
        """Rate the answer of a run that has ended; an earlier rating is replaced."""
        return _given(self, self._run(run_id), self.read(FeedbackInput))

    @operation("feedback_withdraw", "Take a rating back")
    def delete(self, request: Request, run_id: uuid.UUID) -> Response:
        """Take your rating back. The ledger keeps that it was given."""
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
        """Rate an answer of the API under `/v1`; an earlier rating is replaced."""
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
