"""Records what people and programs think of an answer: a rating, with or without words.

A comment is a body of its ledger entry, so it is erased with the run's content.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.audit.types import Actor
from apps.core.errors import Conflict, NotFound
from apps.core.scoping import TeamQuerySet
from apps.core.validation import clean_choice, clean_fields, clean_lines
from apps.governance.models import (
    COMMENT_LENGTH,
    Rating,
    ReviewReason,
    RunFeedback,
)
from apps.governance.reviews.feeding import review_enqueue
from apps.governance.reviews.reads import review_rules
from apps.governance.run_entries import run_entry_append
from apps.runs.models import Run, RunState


@transaction.atomic
def feedback_give(
    *, run: Run, rating: Any, actor: Actor, comment: Any = ""
) -> RunFeedback:
    """Record a rating of a run's answer; one that the actor gave before is replaced.

    A bad one sends the run to review, if the team's rules say so.

    Raises: InvalidFields; Conflict if the run is in progress.
    """
    cleaned = clean_fields(
        {"rating": rating, "comment": comment},
        {
            "rating": lambda value: clean_choice(value, Rating.values, "rating"),
            "comment": lambda value: clean_lines(value, "comment", COMMENT_LENGTH),
        },
    )
    if run.state == RunState.RUNNING:
        raise Conflict("the run is in progress; rate it when it has ended")
    # First the row, then the head of the chain, as all that append do.
    row, is_new = _rows(run, actor).get_or_create(
        run_id=run.id,
        actor_type=actor.type,
        actor_id=actor.id,
        defaults={"team_id": run.team_id, "entry_seq": 0},
    )
    facts = {
        "rating": cleaned["rating"],
        "previous_rating": None if is_new else row.rating,
    }
    texts = {"comment": cleaned["comment"]} if cleaned["comment"] else {}
    row.rating, row.actor_name = cleaned["rating"], actor.display[:200]
    row.entry_seq = run_entry_append(
        run.team_id, run.id, "feedback.recorded", actor, facts, texts
    )
    row.save()
    if row.rating == Rating.DOWN and review_rules(run.team_id).thumbs_down:
        review_enqueue(run, ReviewReason.FEEDBACK, actor, timezone.now())
    return row


@transaction.atomic
def feedback_withdraw(*, run: Run, actor: Actor) -> None:
    """Take back the actor's rating. Raises: NotFound if there is none."""
    row = _rows(run, actor).first()
    if row is None:
        raise NotFound("you have not rated this run")
    row.delete()
    facts = {"previous_rating": row.rating}
    run_entry_append(run.team_id, run.id, "feedback.removed", actor, facts)


def _rows(run: Run, actor: Actor) -> TeamQuerySet[RunFeedback]:
    """Return the actor's rating of a run, locked when it is read."""
    rows = RunFeedback.objects.for_team(run.team_id).select_for_update()
    return rows.filter(run_id=run.id, actor_type=actor.type, actor_id=actor.id)
