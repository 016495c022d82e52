"""How comparisons are shown over REST, to one member or key."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from apps.comparisons.hidden_names import name_mask
from apps.comparisons.judging import judge_replies
from apps.comparisons.models import (
    LETTERS,
    Comparison,
    ComparisonJudgement,
    ComparisonVote,
    JudgementState,
)
from apps.comparisons.selectors import vote_reason
from apps.comparisons.types import AnswerRun, ComparisonView
from apps.rest.fields import Output, Time
from apps.rest.resources.run_outputs import RunOutput
from apps.runs.selectors import run_view


class ComparedAnswerOutput(Output):
    """One answer."""

    letter = serializers.CharField()
    is_over = serializers.BooleanField()
    answer = serializers.CharField(
        allow_null=True,
        help_text="Null in lists. Empty: there is none, not yet, or it is erased.",
    )
    model = serializers.CharField(allow_null=True, help_text="Null: hidden.")
    run = RunOutput(allow_null=True, help_text="Null: hidden.")


class ComparisonVoteOutput(Output):
    """A vote."""

    choice = serializers.CharField(help_text="better, tie or none.")
    letter = serializers.CharField(allow_null=True, help_text="Of the better answer.")
    reason = serializers.CharField(
        allow_null=True, help_text="Null: it has been erased, or this is a list."
    )
    actor_name = serializers.CharField()
    voted_at = Time()


class ComparisonJudgementOutput(Output):
    """What a judge said, from the answers in both orders."""

    judge = serializers.CharField(help_text="The model that was asked.")
    state = serializers.ChoiceField(
        choices=JudgementState.choices,
        help_text="split: it named different answers in the two orders.",
    )
    letter = serializers.CharField(allow_null=True, help_text="Of the better answer.")
    reasons = serializers.ListField(
        child=serializers.CharField(allow_blank=True),
        help_text="From left to right, and from right to left. Empty while it reads, "
        "and in lists.",
    )
    run_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="Its calls, which are runs."
    )
    created_at = Time()


class AnswerComparisonOutput(Output):
    """A comparison as you may see it."""

    id = serializers.UUIDField()
    is_blind = serializers.BooleanField()
    is_revealed = serializers.BooleanField(
        help_text="False: it is blind, and you have not voted."
    )
    is_over = serializers.BooleanField(help_text="True: every run has ended.")
    created_at = Time()
    answers = ComparedAnswerOutput(many=True)
    preferred = serializers.CharField(
        allow_null=True,
        help_text="Letter of the better answer: the outcome with the most votes, of "
        "ties and votes for none too; without votes, by the judge.",
    )
    own_vote = ComparisonVoteOutput(allow_null=True)
    votes = ComparisonVoteOutput(many=True)
    judgement = ComparisonJudgementOutput(allow_null=True, help_text="The newest one.")


class CandidateVotesOutput(Output):
    """How often a candidate was preferred."""

    model = serializers.CharField()
    votes = serializers.IntegerField(
        help_text="On comparisons that it took part in, ties included."
    )
    preferred = serializers.IntegerField(help_text="Of these, for its answer.")
    blind = serializers.IntegerField(
        help_text="Of these, those given before the voter knew who wrote what."
    )
    is_former = serializers.BooleanField(
        help_text="True: another candidate has the name now, or none."
    )
    share = serializers.FloatField()
    low = serializers.FloatField(help_text="Wilson's interval of 95 %.")
    high = serializers.FloatField()


@dataclass(frozen=True, slots=True)
class ShownComparison:
    """A comparison in the fields of its output."""

    id: uuid.UUID
    is_blind: bool
    is_revealed: bool
    is_over: bool
    created_at: Any
    answers: list[dict[str, Any]]
    preferred: str | None
    own_vote: dict[str, Any] | None
    votes: list[dict[str, Any]]
    judgement: dict[str, Any] | None


def comparison_shown(view: ComparisonView, *, has_texts: bool) -> ShownComparison:
    """Return a comparison in the fields of its output; in lists without texts."""
    comparison, preferred = view.comparison, view.preferred
    votes = [_vote(comparison, each, has_texts) for each in view.votes]
    own = view.own_vote
    return ShownComparison(
        id=comparison.id,
        is_blind=comparison.is_blind,
        is_revealed=view.is_revealed,
        is_over=view.is_over,
        created_at=comparison.created_at,
        answers=[_answer(view, each, has_texts) for each in view.answers],
        preferred=_letter(preferred),
        own_vote=_vote(comparison, own, has_texts) if own else None,
        votes=votes,
        judgement=_judgement(comparison, view.judgement, has_texts),
    )


def _answer(view: ComparisonView, each: AnswerRun, has_texts: bool) -> dict[str, Any]:
    text = None
    if has_texts:
        story = run_view(each.run)
        text = (story.answer or "") if story.state == "completed" else ""
        if not view.is_revealed:
            text = name_mask(view.comparison.team_id, [each.run.id]).whole(text)
    return {
        "letter": each.answer.letter,
        "is_over": each.run.is_over,
        "answer": text,
        "model": each.answer.model if view.is_revealed else None,
        "run": each.run if view.is_revealed else None,
    }


def _vote(
    comparison: Comparison, vote: ComparisonVote, has_texts: bool
) -> dict[str, Any]:
    return {
        "choice": vote.choice,
        "letter": _letter(vote.position),
        "reason": vote_reason(comparison.team_id, vote) if has_texts else None,
        "actor_name": vote.actor_name,
        "voted_at": vote.voted_at,
    }


def _judgement(
    comparison: Comparison, judgement: ComparisonJudgement | None, has_texts: bool
) -> dict[str, Any] | None:
    if judgement is None:
        return None
    reasons: list[str] = []
    if has_texts and judgement.state != JudgementState.RUNNING:
        replies = judge_replies(comparison.team_id, judgement)
        reasons = [reply.reason for reply in replies]
    return {
        "judge": judgement.worker,
        "state": judgement.state,
        "letter": _letter(judgement.position),
        "reasons": reasons,
        "run_ids": [judgement.run_id, judgement.reversed_run_id],
        "created_at": judgement.created_at,
    }


def _letter(position: int | None) -> str | None:
    return None if position is None else LETTERS[position]
