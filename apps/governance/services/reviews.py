"""What people do with runs in the review queue: reserve, judge, comment, queue again.

Every change locks the row of the queue first, so two people never hold the same review
and none is judged twice. Nobody judges a run of their own, or as the second reviewer
what they judged first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.principal import Principal
from apps.accounts.rights import ASK_REVIEW, REVIEW_RUNS
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.core.validation import clean_choice, clean_fields, clean_lines
from apps.governance.reviews.feeding import review_enqueue
from apps.governance.reviews.models import (
    Review,
    ReviewComment,
    ReviewItem,
    ReviewReason,
    ReviewState,
    Verdict,
)
from apps.governance.reviews.reads import review_obstacle, review_rules
from apps.governance.reviews.rules import Criterion, Score
from apps.governance.run_entries import run_entry_append
from apps.runs.models import Run
from apps.runs.services import RunsChanged, UnchangedReason

RESERVED = timedelta(minutes=15)
TEXT_LENGTH = 2_000
ANSWER_LENGTH = 20_000
TEXTS = ("reason", "right_answer")
"""Of a verdict; kept apart from its entry."""
NO_RIGHT_ANSWER = "write the right answer; without it only a run that passes is a task"
STRICTNESS = (Verdict.PASS, Verdict.NEEDS_CHANGE, Verdict.FAIL)
"""Of two verdicts the later one of these counts."""


@transaction.atomic
def review_request(
    *, run: Run, principal: Principal, now: datetime | None = None
) -> ReviewItem:
    """Send a run to the queue. Raises: NotAllowed; Conflict if it is in progress."""
    principal.require(ASK_REVIEW)
    if not run.is_over:
        raise Conflict("the run is in progress; send it to review when it has ended")
    reason, moment = ReviewReason.MANUAL, now or timezone.now()
    return review_enqueue(run, reason, principal.actor, moment)


def reviews_request(*, runs: Sequence[Run], principal: Principal) -> RunsChanged:
    """Send runs of the principal's team to the queue, each as `review_request` does.

    Raises: NotAllowed.
    """
    principal.require(ASK_REVIEW)
    rows = ReviewItem.objects.for_team(principal.team_id)
    items = {item.run_id: item for item in rows.filter(run_id__in=[r.id for r in runs])}
    changed: list[Run] = []
    unchanged: dict[UnchangedReason, list[Run]] = defaultdict(list)
    for run in runs:
        reason = _request_obstacle(run, items.get(run.id))
        if reason is None:
            review_request(run=run, principal=principal)
            changed.append(run)
        else:
            unchanged[reason].append(run)
    return RunsChanged(changed, unchanged)


@transaction.atomic
def review_reserve(
    *, item: ReviewItem, principal: Principal, now: datetime | None = None
) -> ReviewItem:
    """Reserve a review for 15 minutes; whoever has it keeps it for 15 more.

    Only the beginning is recorded. Raises: NotAllowed to whom it must not be left;
    Conflict if somebody else holds it, or it has been reviewed.
    """
    moment = now or timezone.now()
    row = _locked(item, principal)
    person = _reviewer(row, principal, moment)
    is_renewal = row.is_held_by(person.id, moment)
    row.reserved_by, row.reserved_name = person, principal.actor.display[:200]
    row.reserved_until = moment + RESERVED
    row.save(update_fields=["reserved_by", "reserved_name", "reserved_until"])
    if not is_renewal:
        facts = {"reserved_until": row.reserved_until.isoformat(timespec="seconds")}
        _record(row, "review.reserved", principal, facts)
    return row


@transaction.atomic
def review_release(
    *, item: ReviewItem, principal: Principal, now: datetime | None = None
) -> ReviewItem:
    """Leave a review to others. Raises: Conflict if the principal does not hold it."""
    row = _locked(item, principal)
    if not row.is_held_by(principal.user_id, now or timezone.now()):
        raise Conflict("you have not reserved this review, or your time is over")
    _free(row)
    row.save(update_fields=["reserved_by", "reserved_name", "reserved_until"])
    _record(row, "review.released", principal, {})
    return row


@transaction.atomic
def review_judge(
    *,
    item: ReviewItem,
    principal: Principal,
    verdict: Any,
    scores: Any,
    reason: Any = "",
    right_answer: Any = "",
    is_task: bool = False,
    now: datetime | None = None,
) -> Review:
    """Record a verdict with its scores; the review must be reserved.

    If the team wants two reviewers, the first verdict leaves it to a second one.
    `is_task` makes the run a task for evaluations, which needs an answer that passes or
    a `right_answer`. Raises: InvalidFields if a criterion has no score, or a verdict or
    a task lacks what it needs; NotAllowed, Conflict as `review_reserve`.
    """
    moment = now or timezone.now()
    row = _locked(item, principal)
    person = _reviewer(row, principal, moment)
    if not row.is_held_by(person.id, moment):
        raise Conflict("your reservation is over; reserve the review again")
    rules = review_rules(row.team_id)
    cleaned = _cleaned(rules.rubric, verdict, scores, reason, right_answer)
    _require_right_answer(cleaned, is_task)
    first = _verdicts(row).first()
    agrees = None if first is None else first.verdict == cleaned["verdict"]
    facts = {
        "round": row.round,
        "place": 1 if first is None else 2,
        "verdict": cleaned["verdict"],
        "scores": cleaned["scores"],
        "agrees": agrees,
        "is_task": is_task,
    }
    texts = {name: cleaned[name] for name in TEXTS if cleaned[name]}
    review = Review.objects.create(
        team_id=row.team_id,
        item=row,
        reviewer=person,
        reviewer_name=principal.actor.display[:200],
        **facts,
        waited_s=max(0, int((moment - row.queued_at).total_seconds())),
        entry_seq=_record(row, "review.judged", principal, facts, texts),
        created_at=moment,
    )
    row.verdict = _stricter(row.verdict, review.verdict)
    is_done = first is not None or not rules.second_reviewer
    row.state = ReviewState.REVIEWED if is_done else ReviewState.SECOND
    row.reviewed_at = moment if is_done else None
    _free(row)
    row.save()
    return review


@transaction.atomic
def review_requeue(
    *,
    item: ReviewItem,
    principal: Principal,
    reason: Any,
    now: datetime | None = None,
) -> ReviewItem:
    """Queue a reviewed run again; its verdicts stay on record.

    Raises: InvalidFields without a reason; Conflict if it is in the queue.
    """
    text = clean_fields({"reason": reason}, {"reason": _clean_needed})["reason"]
    row = _locked(item, principal)
    if row.is_open:
        raise Conflict("this review is in the queue already")
    previous = row.verdict
    row.state, row.verdict, row.reviewed_at = ReviewState.WAITING, "", None
    row.round += 1
    row.queued_at = now or timezone.now()
    row.save()
    facts = {"round": row.round, "previous_verdict": previous}
    _record(row, "review.requeued", principal, facts, {"reason": text})
    return row


@transaction.atomic
def review_comment(
    *,
    item: ReviewItem,
    principal: Principal,
    text: Any,
    now: datetime | None = None,
) -> ReviewComment:
    """Comment on a review. Raises: InvalidFields."""
    cleaned = clean_fields({"text": text}, {"text": _clean_comment})["text"]
    row = _locked(item, principal)
    return ReviewComment.objects.create(
        team_id=row.team_id,
        item=row,
        author_name=principal.actor.display[:200],
        entry_seq=_record(row, "review.commented", principal, {}, {"text": cleaned}),
        created_at=now or timezone.now(),
    )


def _request_obstacle(run: Run, item: ReviewItem | None) -> UnchangedReason | None:
    """Return why a person's request for a review would change nothing, if it would."""
    if not run.is_over:
        return UnchangedReason.IN_PROGRESS
    if item is None:
        return None
    if not item.is_open:
        return UnchangedReason.REVIEWED
    is_sent = ReviewReason.MANUAL in item.reason_values
    return UnchangedReason.WAITS_FOR_REVIEW if is_sent else None


def _locked(item: ReviewItem, principal: Principal) -> ReviewItem:
    principal.require(REVIEW_RUNS)
    rows = ReviewItem.objects.for_team(principal.team_id).select_for_update()
    row = rows.filter(pk=item.pk).first()
    if row is None:
        raise NotFound("this review is there no more")
    return row


def _reviewer(row: ReviewItem, principal: Principal, now: datetime) -> User:
    """Return the person, if the review may be theirs. Raises: NotAllowed, Conflict."""
    assert principal.user is not None  # no key has the right
    if obstacle := review_obstacle(row, principal.user.id, now):
        raise obstacle
    return principal.user


def _verdicts(row: ReviewItem) -> Any:
    """Return the verdicts of this round."""
    reviews = Review.objects.for_team(row.team_id)
    return reviews.filter(item_id=row.id, round=row.round).order_by("place")


def _stricter(one: str, other: str) -> str:
    """Return the verdict that counts; the first may be empty."""
    return str([each for each in STRICTNESS if each in (one, other)][-1])


def _free(row: ReviewItem) -> None:
    row.reserved_by, row.reserved_name, row.reserved_until = None, "", None


def _cleaned(
    rubric: Sequence[Criterion],
    verdict: Any,
    scores: Any,
    reason: Any,
    right_answer: Any,
) -> dict[str, Any]:
    needs_reason = verdict in (Verdict.NEEDS_CHANGE, Verdict.FAIL)
    return clean_fields(
        {
            "verdict": verdict,
            "scores": scores,
            "reason": reason,
            "right_answer": right_answer,
        },
        {
            "right_answer": _clean_answer,
            "verdict": lambda value: clean_choice(value, Verdict.values, "verdict"),
            "scores": lambda value: _clean_scores(value, rubric),
            "reason": _clean_needed if needs_reason else _clean_reason,
        },
    )


def _require_right_answer(cleaned: Mapping[str, Any], is_task: bool) -> None:
    is_right = cleaned["verdict"] == Verdict.PASS or cleaned["right_answer"]
    if is_task and not is_right:
        raise InvalidFields({"right_answer": [NO_RIGHT_ANSWER]})


def _clean_scores(value: Any, rubric: Sequence[Criterion]) -> dict[str, Score]:
    """Return a score for each criterion, in the order of the rubric."""
    if not isinstance(value, Mapping):
        raise ValueError("scores are an object with the names of the criteria")
    known = {criterion.name for criterion in rubric}
    if unknown := sorted(str(name) for name in value if name not in known):
        raise ValueError(f"the rubric has no criterion {unknown[0]!r}")
    scores: dict[str, Score] = {}
    for criterion in rubric:
        given = value.get(criterion.name)
        # True would pass as 1.
        if isinstance(given, bool) or given not in criterion.choices:
            choices = ", ".join(map(str, criterion.choices))
            raise ValueError(f"{criterion.name!r} needs one of {choices}")
        scores[criterion.name] = given
    return scores


def _clean_comment(value: Any) -> str:
    text = clean_lines(value, "comment", TEXT_LENGTH)
    if not text:
        raise ValueError("write a comment")
    return text


def _clean_reason(value: Any) -> str:
    return clean_lines(value, "reason", TEXT_LENGTH)


def _clean_answer(value: Any) -> str:
    return clean_lines(value, "right_answer", ANSWER_LENGTH)


def _clean_needed(value: Any) -> str:
    text = _clean_reason(value)
    if not text:
        raise ValueError("say why")
    return text


def _record(
    row: ReviewItem,
    action: str,
    principal: Principal,
    facts: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> int:
    """Append the entry to the record of the run; return its place in the chain."""
    told = {"review_id": str(row.id), **facts}
    place = row.team_id, row.run_id
    return run_entry_append(*place, action, principal.actor, told, texts)
