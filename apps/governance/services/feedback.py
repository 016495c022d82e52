"""Records what people and programs say of an answer.

A rating, with or without words, or how right a verifier of theirs found it.

A comment is a body of its ledger entry, so it is erased with the run's content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.audit.types import Actor
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.core.scoping import TeamQuerySet
from apps.core.validation import clean_choice, clean_fields, clean_lines
from apps.governance.models import (
    COMMENT_LENGTH,
    VERIFIER,
    Rating,
    ReviewReason,
    RunFeedback,
)
from apps.governance.reviews.feeding import review_enqueue
from apps.governance.reviews.reads import review_rules
from apps.governance.run_entries import run_entry_append
from apps.runs.models import Run, RunState

THOUSANDTHS = 1_000


@transaction.atomic
def feedback_give(
    *,
    run: Run,
    actor: Actor,
    rating: Any = None,
    comment: Any = "",
    outcome: Any = None,
) -> RunFeedback:
    """Record a rating of a run's answer, a verified outcome, or both.

    `outcome`: `{"score": 0.9, "source": "verifier"}`. What the actor said before is
    replaced, each by itself. A bad rating sends the run to review, if the team's rules
    say so.

    Raises: InvalidFields; Conflict if the run is in progress.
    """
    given = _cleaned(rating, comment, outcome)
    if run.state == RunState.RUNNING:
        raise Conflict("the run is in progress; rate it when it has ended")
    # First the row, then the head of the chain, as all that append do.
    row, _ = _rows(run, actor).get_or_create(
        run_id=run.id,
        actor_type=actor.type,
        actor_id=actor.id,
        defaults={"team_id": run.team_id, "entry_seq": 0, "rating": ""},
    )
    facts: dict[str, Any] = {
        "rating": given.get("rating"),
        "previous_rating": row.rating or None,
    }
    if "outcome" in given:
        facts["outcome_thousandths"] = given["outcome"]
        facts["outcome_source"] = VERIFIER
        row.outcome_thousandths = given["outcome"]
    texts = {"comment": given["comment"]} if given["comment"] else {}
    row.actor_name = actor.display[:200]
    seq = run_entry_append(
        run.team_id, run.id, "feedback.recorded", actor, facts, texts
    )
    if "rating" in given:
        row.rating, row.entry_seq = given["rating"], seq
    row.save()
    if "rating" in given:
        _enqueue(run, given["rating"], actor)
    return row


def _cleaned(rating: Any, comment: Any, outcome: Any) -> dict[str, Any]:
    values = {"rating": rating, "outcome": outcome}
    values = {name: value for name, value in values.items() if value is not None}
    if not values:
        raise InvalidFields({"rating": ["a rating or an outcome is needed"]})
    if comment and "rating" not in values:
        raise InvalidFields({"comment": ["a comment belongs to a rating"]})
    return clean_fields(
        {**values, "comment": comment},
        {
            "rating": lambda value: clean_choice(value, Rating.values, "rating"),
            "outcome": _clean_outcome,
            "comment": lambda value: clean_lines(value, "comment", COMMENT_LENGTH),
        },
    )


def _clean_outcome(value: Any) -> int:
    """Return the score of an outcome in thousandths."""
    if not isinstance(value, Mapping) or value.keys() != {"score", "source"}:
        raise ValueError("an outcome has a score and a source")
    clean_choice(value["source"], [VERIFIER], "source")
    score = value["score"]
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if not is_number or not 0 <= score <= 1:
        raise ValueError("a score is a number from 0 to 1")
    thousandths: int = round(THOUSANDTHS * score)
    return thousandths


def _enqueue(run: Run, rating: str, actor: Actor) -> None:
    if rating == Rating.DOWN and review_rules(run.team_id).thumbs_down:
        review_enqueue(run, ReviewReason.FEEDBACK, actor, timezone.now())


@transaction.atomic
def feedback_withdraw(*, run: Run, actor: Actor) -> None:
    """Take back what the actor said of the answer. Raises: NotFound if it is nothing.

    Both a rating and a verified outcome.
    """
    row = _rows(run, actor).first()
    if row is None:
        raise NotFound("you have not rated this run")
    row.delete()
    facts: dict[str, Any] = {"previous_rating": row.rating or None}
    if row.outcome_thousandths is not None:
        facts["previous_outcome_thousandths"] = row.outcome_thousandths
    run_entry_append(run.team_id, run.id, "feedback.removed", actor, facts)


def _rows(run: Run, actor: Actor) -> TeamQuerySet[RunFeedback]:
    """Return what the actor said of a run, locked when it is read."""
    rows = RunFeedback.objects.for_team(run.team_id).select_for_update()
    return rows.filter(run_id=run.id, actor_type=actor.type, actor_id=actor.id)
