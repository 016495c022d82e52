"""Reads of a team's review queue, its settings and its figures."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.audit.selectors import entry_list
from apps.core.errors import ConductorError, Conflict, NotAllowed, NotFound
from apps.governance.reviews.models import (
    OPEN_STATES,
    Review,
    ReviewComment,
    ReviewItem,
    ReviewSettings,
    Verdict,
)
from apps.governance.reviews.rules import ReviewDocument, Score

FILTERS = ("waiting", "mine", "reviewed", "tasks", "all")
PERIOD = timedelta(days=90)
"""Of the figures."""
FIGURES_FROM = 10_000
"""The newest verdicts that the figures are made of."""
TEXTS_SHOWN = 50
"""Verdicts or comments of one run that are read."""


@dataclass(frozen=True, slots=True)
class GivenReview:
    """A verdict with its reason."""

    round: int
    place: int
    reviewer_name: str
    verdict: str
    scores: Mapping[str, Score]
    agrees: bool | None
    reason: str | None
    """Empty: none was given. None: it has been erased."""
    is_task: bool
    """The run is a task for evaluations."""
    right_answer: str | None
    """Empty: none was given. None: it has been erased."""
    created_at: datetime

    @property
    def verdict_label(self) -> str:
        """Return the verdict as people read it."""
        return str(Verdict(self.verdict).label)


@dataclass(frozen=True, slots=True)
class GivenComment:
    """A comment with its text."""

    author_name: str
    text: str | None
    """None: it has been erased."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewFigures:
    """How a team reviews."""

    waiting: int
    reviews: int
    """Verdicts in the period."""
    verdicts: Mapping[str, int]
    median_wait_s: float | None
    """From the queue to a verdict, in seconds. None: there was none."""
    second_reviews: int
    agreed: int
    """Second verdicts that were those of the first reviewers."""

    @property
    def median_wait_ms(self) -> int | None:
        """Return the wait in milliseconds, as pages draw spans of time."""
        wait = self.median_wait_s
        return None if wait is None else round(wait * 1_000)

    @property
    def agreement_percent(self) -> int | None:
        """Return the share of second verdicts that agree. None: there was none."""
        seconds = self.second_reviews
        return round(100 * self.agreed / seconds) if seconds else None


def review_settings(team_id: uuid.UUID) -> ReviewSettings:
    """Return a team's settings; those of a team that never had any are not stored."""
    found = ReviewSettings.objects.for_team(team_id).first()
    return found or ReviewSettings(team_id=team_id)


def review_rules(team_id: uuid.UUID) -> ReviewDocument:
    """Return a team's rules and rubric."""
    return ReviewDocument.model_validate(review_settings(team_id).document)


def review_items(
    team_id: uuid.UUID,
    *,
    state: str = "waiting",
    reason: str = "",
    user_id: uuid.UUID | None = None,
    now: datetime | None = None,
) -> QuerySet[ReviewItem]:
    """Return a team's queue: what waits oldest first, what is reviewed newest first.

    `state` is one of `FILTERS`; `mine` is what the user holds or has judged.
    """
    rows = ReviewItem.objects.for_team(team_id).select_related("run")
    if reason:
        rows = rows.filter(reasons__contains=f",{reason},")
    match state:
        case "waiting":
            return rows.filter(state__in=OPEN_STATES)
        case "mine":
            held = Q(reserved_by=user_id, reserved_until__gt=now or timezone.now())
            judged = Review.objects.for_team(team_id).filter(reviewer=user_id)
            own = held | Q(id__in=judged.values("item_id"))
            return rows.filter(own).order_by("-queued_at", "-id")
        case "tasks":
            marked = Review.objects.for_team(team_id).filter(
                item_id=OuterRef("id"), round=OuterRef("round"), is_task=True
            )
            reviewed = rows.filter(Exists(marked)).exclude(state__in=OPEN_STATES)
            return reviewed.order_by("-reviewed_at", "-id")
        case "reviewed":
            reviewed = rows.exclude(state__in=OPEN_STATES)
            return reviewed.order_by("-reviewed_at", "-id")
        case _:
            return rows.order_by("-queued_at", "-id")


def access_review(team_id: uuid.UUID, review_id: uuid.UUID) -> ReviewItem:
    """Return a run in the team's queue. Raises: NotFound for any other one."""
    rows = ReviewItem.objects.for_team(team_id).select_related("run")
    item = rows.filter(id=review_id).first()
    if item is None:
        raise NotFound(f"there is no review {str(review_id)!r} in this team")
    return item


def review_of_run(team_id: uuid.UUID, run_id: uuid.UUID) -> ReviewItem | None:
    """Return the place of a run in the queue. None: it was never queued."""
    return ReviewItem.objects.for_team(team_id).filter(run_id=run_id).first()


def reviews_given(item: ReviewItem) -> list[GivenReview]:
    """Return the verdicts about a run, oldest first."""
    rows = Review.objects.for_team(item.team_id).filter(item=item)[:TEXTS_SHOWN]
    return [
        GivenReview(
            row.round,
            row.place,
            row.reviewer_name,
            row.verdict,
            row.scores,
            row.agrees,
            _text(item, row.entry_seq, "reason"),
            row.is_task,
            _text(item, row.entry_seq, "right_answer"),
            row.created_at,
        )
        for row in rows
    ]


def comments_given(item: ReviewItem) -> list[GivenComment]:
    """Return the comments on a review, oldest first."""
    rows = ReviewComment.objects.for_team(item.team_id).filter(item=item)
    newest = reversed(rows.order_by("-created_at", "-id")[:TEXTS_SHOWN])
    return [
        GivenComment(
            row.author_name, _text(item, row.entry_seq, "text"), row.created_at
        )
        for row in newest
    ]


def review_obstacle(
    item: ReviewItem, user_id: uuid.UUID, now: datetime
) -> ConductorError | None:
    """Return why this person cannot reserve or judge a review; None: they can."""
    if not item.is_open:
        return Conflict("this run has been reviewed; queue it again to change that")
    if item.run.user_id == user_id:
        return NotAllowed("this run is your own, so somebody else must review it")
    judged = Review.objects.for_team(item.team_id).filter(item=item, round=item.round)
    if judged.filter(reviewer=user_id).exists():
        return NotAllowed("you were the first reviewer; the second is somebody else")
    if item.is_reserved(now) and item.reserved_by_id != user_id:
        assert item.reserved_until is not None
        return Conflict(
            f"{item.reserved_name} has reserved this review until "
            f"{item.reserved_until:%H:%M} UTC"
        )
    return None


def next_review(
    team_id: uuid.UUID, user_id: uuid.UUID, now: datetime | None = None
) -> ReviewItem | None:
    """Return the oldest review that waits and that this person may reserve."""
    moment = now or timezone.now()
    judged = Review.objects.for_team(team_id).filter(
        item_id=OuterRef("id"), round=OuterRef("round"), reviewer=user_id
    )
    # A run without a person, or a review without a holder, is nobody's own.
    others = Q(run__user_id=None) | ~Q(run__user_id=user_id)
    is_free = Q(reserved_until=None) | Q(reserved_until__lte=moment)
    rows = review_items(team_id).filter(others, is_free | Q(reserved_by=user_id))
    return rows.exclude(Exists(judged)).first()


def review_figures(team_id: uuid.UUID, now: datetime | None = None) -> ReviewFigures:
    """Return the figures of the last 90 days."""
    since = (now or timezone.now()) - PERIOD
    rows = Review.objects.for_team(team_id).filter(created_at__gte=since)
    newest = rows.order_by("-created_at").values_list("verdict", "waited_s", "agrees")
    found = list(newest[:FIGURES_FROM])
    counts = Counter(verdict for verdict, _, _ in found)
    seconds = [agrees for _, _, agrees in found if agrees is not None]
    return ReviewFigures(
        waiting=review_items(team_id).count(),
        reviews=len(found),
        verdicts={value: counts[value] for value in Verdict.values},
        median_wait_s=median(wait for _, wait, _ in found) if found else None,
        second_reviews=len(seconds),
        agreed=sum(seconds),
    )


def _text(item: ReviewItem, seq: int, name: str) -> str | None:
    """Return a text of an entry; empty: it has none. None: it has been erased."""
    entries = entry_list(
        item.team_id, subject_id=item.run_id, after_seq=seq - 1, limit=1
    )
    return entries[0].bodies.get(name, "") if entries else ""
