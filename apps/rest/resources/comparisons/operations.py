"""Comparisons: candidates that answer one prompt, votes, and judges.

What made the answers of a blind comparison is null until the member or key has voted.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import RATE, READ_RUNS, RUN
from apps.comparisons.models import (
    LETTERS,
    MOST_ANSWERS,
    REASON_LENGTH,
    Comparison,
    VoteChoice,
)
from apps.comparisons.selectors import (
    access_comparison,
    candidate_votes,
    comparison_list,
    comparison_view,
    comparison_views,
)
from apps.comparisons.services import (
    comparison_create,
    judgement_ask,
    judgement_settle,
    vote_give,
)
from apps.conversations.services import prepared_order, prompt_prepare
from apps.evaluation.reports.statistics import share
from apps.rest.fields import Flag, Id, Input, TextField, Word
from apps.rest.pagination import Page, PageQuery, page_by_id
from apps.rest.resources.comparisons.shapes import (
    AnswerComparisonOutput,
    CandidateVotesOutput,
    comparison_shown,
)
from apps.rest.resources.presets.calls import preset_filled_in
from apps.rest.resources.presets.shapes import PresetCallInput
from apps.rest.resources.runs import EXAMPLE as RUN_EXAMPLE
from apps.rest.resources.runs import PresetPromptInput, prompt_sent, run_order
from apps.rest.schema import operation
from apps.rest.throttles import pass_request, pass_run
from apps.rest.views import RestView
from apps.runs.models import Source
from apps.runs.selectors import access_run
from apps.runs.types import RunOrder

TAG = "Comparisons"
LETTER_CHOICES = tuple(LETTERS)
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000c",
    "is_blind": True,
    "is_revealed": True,
    "is_over": True,
    "created_at": "2026-11-21T15:53:16.000000Z",
    "answers": [
        {
            "letter": "A",
            "is_over": True,
            "answer": "Yes, 2027 is a prime number.",
            "model": "conductor-ultra",
            "run": RUN_EXAMPLE,
        },
        {
            "letter": "B",
            "is_over": True,
            "answer": "Yes.",
            "model": "worker/gpt-5",
            "run": {**RUN_EXAMPLE, "model": "worker/gpt-5", "tier": "direct"},
        },
    ],
    "preferred": "A",
    "own_vote": {
        "choice": "better",
        "letter": "A",
        "reason": "It says how it was checked.",
        "actor_name": "Build server",
        "voted_at": "2026-11-21T15:55:02.000000Z",
    },
    "votes": [],
    "judgement": None,
}
EXAMPLE["votes"] = [EXAMPLE["own_vote"]]
LISTED: dict[str, Any] = {
    **EXAMPLE,
    "answers": [{**each, "answer": None} for each in EXAMPLE["answers"]],
}
JUDGEMENT: dict[str, Any] = {
    "judge": "worker/claude",
    "state": "running",
    "letter": None,
    "reasons": [],
    "run_ids": [
        "0199c0de-0000-7000-8000-00000000000d",
        "0199c0de-0000-7000-8000-00000000000e",
    ],
    "created_at": "2026-11-21T15:56:00.000000Z",
}


# --- what comes in -------------------------------------------------------------------


class ComparisonInput(PresetPromptInput):
    """A prompt, or a preset that makes one, and its candidates; or recorded runs."""

    model = None  # type: ignore[assignment]  # `models` stands in its place
    needed_alone = ()
    prompt = TextField(
        required=False,
        trim_whitespace=False,
        help_text="What each of `models` is asked. Required with `models`, unless a "
        "preset makes it.",
    )
    preset = PresetCallInput(
        required=False,
        help_text="Makes the prompt. Its settings count where the request says "
        "nothing else; `models` replace its model.",
    )
    system = TextField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="System prompt. Empty: none.",
    )
    models = serializers.ListField(
        child=TextField(max_length=200),
        required=False,
        max_length=MOST_ANSWERS,
        help_text="The candidates, in the words of a run's `model`.",
    )
    run_ids = serializers.ListField(
        child=Id(),
        required=False,
        max_length=MOST_ANSWERS,
        help_text="Recorded runs whose answers are compared too. Not if it is blind.",
    )
    is_blind = Flag(
        default=False,
        help_text="True: what made the answers is null until you have voted.",
    )


class VoteInput(Input):
    """What you decide about the answers."""

    choice = Word(choices=VoteChoice.choices)
    letter = Word(
        choices=LETTER_CHOICES,
        required=False,
        help_text="The better answer, with the choice `better`.",
    )
    reason = TextField(
        max_length=REASON_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Kept as long as the content of the first run.",
    )


class ComparisonJudgeInput(Input):
    """Who judges."""

    judge = TextField(
        max_length=200,
        required=False,
        help_text="A worker, like `worker/<name>`, that gave none of the answers. "
        "Default: the first one of the pools.",
    )


# --- operations ----------------------------------------------------------------------


class Comparisons(RestView):
    """The comparisons of the team."""

    tag = TAG
    starts_runs = True
    rights = {"GET": READ_RUNS, "POST": RUN}

    @operation(
        "comparison_list",
        "List comparisons",
        page_of=AnswerComparisonOutput,
        query=PageQuery,
        example=LISTED,
    )
    def get(self, request: Request) -> Response:
        """Return the comparisons of the team, the newest first, without their texts."""
        principal = self.principal
        page = page_by_id(comparison_list(principal.team_id), **self.read_page())
        views = comparison_views(list(page.data), principal.actor)
        shown = [comparison_shown(view, has_texts=False) for view in views]
        return self.paged(Page(shown, page.next_cursor), AnswerComparisonOutput)

    @operation(
        "comparison_create",
        "Compare answers",
        body=ComparisonInput,
        answer=AnswerComparisonOutput,
        status=201,
        errors=(404, 409, 422),
        sent={
            "models": ["conductor-ultra", "worker/gpt-5"],
            "prompt": "Is 2027 a prime number? Check it twice.",
            "is_blind": True,
        },
        example={
            **LISTED,
            "is_revealed": False,
            "is_over": False,
            "answers": [
                {**each, "is_over": False, "answer": "", "model": None, "run": None}
                for each in EXAMPLE["answers"]
            ],
            "preferred": None,
            "own_vote": None,
            "votes": [],
        },
    )
    def post(self, request: Request) -> Response:
        """Start a run for each candidate: all of them, or none if one is refused.

        Without `models`, a comparison of the same runs that is there is returned.
        """
        values = self.read(ComparisonInput)
        if not values.get("models"):
            pass_request(self)
        principal = self.principal
        principal.require(READ_RUNS)
        run_ids, is_blind = values.pop("run_ids", []), values.pop("is_blind")
        kept = [access_run(team_id=principal.team_id, run_id=each) for each in run_ids]
        made = comparison_create(
            team_id=principal.team_id,
            actor=principal.actor,
            orders=_orders(self, values),
            kept=kept,
            is_blind=is_blind,
        )
        location = reverse("rest:comparison", args=[made.id])
        return self.created(_output(self, made), location)


class OneComparison(RestView):
    """One comparison."""

    tag = TAG
    rights = {"GET": READ_RUNS}

    @operation(
        "comparison_get",
        "Read a comparison",
        answer=AnswerComparisonOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """Return a comparison with its answers, votes and judgement."""
        return Response(_output(self, _access(self, comparison_id)))


class ComparisonVotes(RestView):
    """The vote of the member or key."""

    tag = TAG
    rights = {"POST": RATE}

    @operation(
        "comparison_vote",
        "Vote on a comparison",
        body=VoteInput,
        answer=AnswerComparisonOutput,
        errors=(409,),
        sent={"choice": "better", "letter": "A", "reason": "It is checked."},
        example=EXAMPLE,
    )
    def post(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """Say which answer is better, when all have ended; replaces an earlier vote.

        The ledger keeps both. A vote rates no answer: feedback on the runs does.
        """
        comparison = _access(self, comparison_id)
        self.principal.require(READ_RUNS)
        vote_give(
            comparison=comparison,
            actor=self.principal.actor,
            **self.read(VoteInput),
        )
        return Response(_output(self, comparison))


class ComparisonJudge(RestView):
    """A worker that judges."""

    tag = TAG
    starts_runs = True
    rights = {"POST": RUN}

    @operation(
        "comparison_judge",
        "Ask a judge",
        body=ComparisonJudgeInput,
        answer=AnswerComparisonOutput,
        status=202,
        errors=(400, 409, 422),
        sent={"judge": "worker/claude"},
        example={**EXAMPLE, "judgement": JUDGEMENT},
    )
    def post(self, request: Request, comparison_id: uuid.UUID) -> Response:
        """Let a worker read the answers in both orders; both calls are runs.

        Read the comparison until `judgement.state` is no longer `running`.
        """
        comparison = _access(self, comparison_id)
        self.principal.require(READ_RUNS)
        judgement_ask(
            comparison=comparison,
            principal=self.principal,
            admit=lambda model, prompt: pass_run(self, model, prompt),
            model=self.read(ComparisonJudgeInput).get("judge", ""),
            source=Source.REST,
        )
        location = reverse("rest:comparison", args=[comparison.id])
        return self.accepted(_output(self, comparison), location)


class ComparisonCandidates(RestView):
    """Results by candidate."""

    tag = TAG
    rights = {"GET": READ_RUNS}

    @operation(
        "comparison_candidate_list",
        "List results by candidate",
        page_of=CandidateVotesOutput,
        query=PageQuery,
        example={
            "model": "conductor-ultra",
            "votes": 24,
            "preferred": 17,
            "blind": 20,
            "is_former": False,
            "share": 0.708,
            "low": 0.508,
            "high": 0.851,
        },
    )
    def get(self, request: Request) -> Response:
        """Return how often each candidate was preferred in the votes of the team.

        Of the newest 5,000 comparisons whose answers are to the same prompt; not of
        blind ones in which the member or key has not voted. Two candidates that had one
        name, one after the other, are two rows.
        """
        rows = []
        for each in candidate_votes(self.principal.team_id, self.principal.actor):
            found = share(each.preferred, each.votes)
            assert found is not None  # those without votes are not counted
            rows.append(
                {
                    "model": each.model,
                    "votes": each.votes,
                    "preferred": each.preferred,
                    "blind": each.blind,
                    "is_former": each.is_former,
                    "share": round(found.value, 3),
                    "low": round(found.low, 3),
                    "high": round(found.high, 3),
                }
            )
        return self.listed(rows, CandidateVotesOutput)


def _orders(view: RestView, values: dict[str, Any]) -> list[RunOrder]:
    """Return the order of each candidate, each of them admitted."""
    models = values.pop("models", [])
    if not models and "preset" in values:
        raise serializers.ValidationError({"models": ["a preset needs models"]})
    if not models:
        return []
    preset = preset_filled_in(view.principal, values, has_model=False)
    if not values.get("prompt"):
        raise serializers.ValidationError({"prompt": ["models need a prompt"]})
    asked = prompt_prepare(prompt_sent(view.principal, values))
    orders = []
    for model in models:
        admission = pass_run(view, model, asked.prompt)
        sent = {**values, "model": model}
        if "conductor" in values:
            sent["conductor"] = dict(values["conductor"])
        order = run_order(view.principal, admission, asked, sent, preset)
        orders.append(prepared_order(asked, order))
    return orders


def _access(view: RestView, comparison_id: uuid.UUID) -> Comparison:
    return access_comparison(
        team_id=view.principal.team_id, comparison_id=comparison_id
    )


def _output(view: RestView, comparison: Comparison) -> Mapping[str, Any]:
    judgement_settle(comparison)
    seen = comparison_view(comparison, view.principal.actor)
    shown: Mapping[str, Any] = AnswerComparisonOutput(
        comparison_shown(seen, has_texts=True)
    ).data
    return shown
