"""The review queue: what waits, who holds it, what was decided."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import ASK_REVIEW, READ_REVIEWS, REVIEW_RUNS
from apps.governance.models import ReviewItem, ReviewReason, ReviewState, Verdict
from apps.governance.reviews.reads import (
    FILTERS,
    access_review,
    comments_given,
    review_figures,
    review_items,
    reviews_given,
)
from apps.governance.services import (
    ANSWER_LENGTH,
    TEXT_LENGTH,
    review_comment,
    review_judge,
    review_release,
    review_request,
    review_requeue,
    review_reserve,
)
from apps.rest.fields import Id, Input, Output, TextField, Time, Word
from apps.rest.pagination import Page, PageQuery, page_by_place
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.selectors import access_run

TAG = "Reviews"
RUN_ID = "0199c0de-0000-7000-8000-000000000001"
FIGURES: dict[str, Any] = {
    "waiting": 4,
    "reviews": 31,
    "verdicts": dict(zip(Verdict.values, (24, 5, 2), strict=True)),
    "median_wait_s": 5_400.0,
    "second_reviews": 8,
    "agreed": 7,
}
ITEM: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000002",
    "run_id": RUN_ID,
    "title": "Compare these two contracts.",
    "requested_by": "Bob",
    "reasons": ["policy", "sample"],
    "state": "waiting",
    "round": 1,
    "queued_at": "2026-11-23T10:00:00.000000Z",
    "reserved_by": "Rita",
    "reserved_until": "2026-11-23T10:20:00.000000Z",
    "verdict": None,
    "reviewed_at": None,
}
REVIEW: dict[str, Any] = {
    "round": 1,
    "place": 1,
    "reviewer_name": "Rita",
    "verdict": "fail",
    "scores": {"Correct": 2, "Safe": "pass"},
    "agrees": None,
    "reason": "The second figure is of 2024.",
    "is_task": True,
    "right_answer": "$4.2 million in 2025.",
    "created_at": "2026-11-23T10:12:00.000000Z",
}
COMMENT: dict[str, Any] = {
    "author_name": "Rita",
    "text": "Step 2 read the wrong table.",
    "created_at": "2026-11-23T10:10:00.000000Z",
}
JUDGED = {
    **ITEM,
    "state": "reviewed",
    "reserved_by": None,
    "reserved_until": None,
    "verdict": "fail",
    "reviewed_at": "2026-11-23T10:12:00.000000Z",
}
SENT = ("verdict", "scores", "reason", "is_task", "right_answer")
TEXT_HELP = "Kept as long as the content of the run."


class ReviewQuery(PageQuery):
    """Which reviews."""

    state = serializers.ChoiceField(
        choices=FILTERS,
        required=False,
        default="waiting",
        help_text="`mine`: those you hold or have judged. `tasks`: those that a "
        "verdict made tasks for evaluations.",
    )
    reason = serializers.ChoiceField(
        choices=ReviewReason.choices, required=False, help_text="Why it was queued."
    )


class ReviewRequestInput(Input):
    """A run to be reviewed."""

    run_id = Id()


class JudgeInput(Input):
    """A verdict."""

    verdict = Word(choices=Verdict.choices)
    scores = serializers.DictField(
        required=False,
        help_text="For each criterion of the rubric, by its name: 1 to 5, or `pass` "
        "or `fail`.",
    )
    reason = TextField(
        max_length=TEXT_LENGTH,
        required=False,
        allow_blank=True,
        help_text=f"Needed unless the verdict is `pass`. {TEXT_HELP}",
    )
    is_task = serializers.BooleanField(
        required=False, help_text="The run is a task for evaluations."
    )
    right_answer = TextField(
        max_length=ANSWER_LENGTH,
        required=False,
        allow_blank=True,
        help_text=f"A task needs it unless the verdict is `pass`. {TEXT_HELP}",
    )


class RequeueInput(Input):
    """Why a run is reviewed again."""

    reason = TextField(max_length=TEXT_LENGTH, help_text=TEXT_HELP)


class CommentInput(Input):
    """A comment."""

    text = TextField(max_length=TEXT_LENGTH, help_text=TEXT_HELP)


class ReviewItemOutput(Output):
    """A run in the queue."""

    id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    title = serializers.CharField()
    requested_by = serializers.CharField(help_text="Who started the run.")
    reasons = serializers.ListField(
        child=serializers.ChoiceField(choices=ReviewReason.choices)
    )
    state = serializers.ChoiceField(choices=ReviewState.choices)
    round = serializers.IntegerField(help_text="Grows when it is queued again.")
    queued_at = Time()
    reserved_by = serializers.CharField(allow_null=True)
    reserved_until = Time(allow_null=True)
    verdict = serializers.ChoiceField(
        choices=Verdict.choices,
        allow_null=True,
        help_text="Of two reviewers the stricter one.",
    )
    reviewed_at = Time(allow_null=True)


class GivenReviewOutput(Output):
    """What one person decided."""

    round = serializers.IntegerField()
    place = serializers.IntegerField(help_text="2: a second reviewer.")
    reviewer_name = serializers.CharField()
    verdict = serializers.ChoiceField(choices=Verdict.choices)
    scores = serializers.DictField()
    agrees = serializers.BooleanField(
        allow_null=True, help_text="With the first reviewer. Null: this is the first."
    )
    reason = serializers.CharField(allow_null=True, help_text="Null: it is erased.")
    is_task = serializers.BooleanField(help_text="A task for evaluations.")
    right_answer = serializers.CharField(
        allow_null=True, help_text="Empty: none was given. Null: it is erased."
    )
    created_at = Time()


class GivenCommentOutput(Output):
    """A comment."""

    author_name = serializers.CharField()
    text = serializers.CharField(allow_null=True, help_text="Null: it is erased.")
    created_at = Time()


class ReviewDetailOutput(ReviewItemOutput):
    """A run in the queue, with what was decided and said."""

    reviews = GivenReviewOutput(many=True)
    comments = GivenCommentOutput(many=True)


class ReviewFiguresOutput(Output):
    """How the team reviews."""

    waiting = serializers.IntegerField()
    reviews = serializers.IntegerField(help_text="Verdicts in the last 90 days.")
    verdicts = serializers.DictField(child=serializers.IntegerField())
    median_wait_s = serializers.FloatField(
        allow_null=True, help_text="From the queue to a verdict. Null: there was none."
    )
    second_reviews = serializers.IntegerField()
    agreed = serializers.IntegerField(
        help_text="Second verdicts that were those of the first reviewers."
    )


class ReviewView(RestView):
    """The base of operations on one review."""

    tag = TAG

    def item(self, review_id: uuid.UUID) -> ReviewItem:
        """Return a review of the team. Raises: NotFound."""
        return access_review(self.principal.team_id, review_id)

    def told(self, item: ReviewItem) -> Response:
        """Answer with a review."""
        return Response(ReviewItemOutput(_told(item)).data)


class Reviews(ReviewView):
    """The review queue."""

    rights = {"GET": READ_REVIEWS, "POST": ASK_REVIEW}

    @operation(
        "review_list",
        "List reviews",
        page_of=ReviewItemOutput,
        query=ReviewQuery,
        example=ITEM,
    )
    def get(self, request: Request) -> Response:
        """Return what waits, the oldest first; what is reviewed, the newest first."""
        query = self.read_page(ReviewQuery)
        rows = review_items(
            self.principal.team_id,
            state=query.pop("state"),
            reason=query.pop("reason", ""),
            user_id=self.principal.user_id,
        )
        page = page_by_place(rows, **query)
        told = Page([_told(item) for item in page.data], page.next_cursor)
        return self.paged(told, ReviewItemOutput)

    @operation(
        "review_request",
        "Send a run to review",
        body=ReviewRequestInput,
        answer=ReviewItemOutput,
        status=201,
        errors=(409,),
        sent={"run_id": RUN_ID},
        example={**ITEM, "reserved_by": None, "reserved_until": None},
    )
    def post(self, request: Request) -> Response:
        """Queue a run that has ended. One that is there already stays as it is."""
        values = self.read(ReviewRequestInput)
        team_id = self.principal.team_id
        run = access_run(team_id=team_id, run_id=values["run_id"])
        item = review_request(run=run, principal=self.principal)
        data = ReviewItemOutput(_told(item)).data
        return self.created(data, f"/api/v1/reviews/{item.id}/")


class ReviewFiguresView(RestView):
    """Figures of the review queue."""

    tag = TAG
    rights = {"GET": READ_REVIEWS}

    @operation(
        "review_figures",
        "Read figures of reviews",
        answer=ReviewFiguresOutput,
        example=FIGURES,
    )
    def get(self, request: Request) -> Response:
        """Return how many wait, and the verdicts of the last 90 days."""
        figures = review_figures(self.principal.team_id)
        return Response(ReviewFiguresOutput(figures).data)


class OneReview(ReviewView):
    """A run in the queue."""

    rights = {"GET": READ_REVIEWS}

    @operation(
        "review_get",
        "Read a review",
        answer=ReviewDetailOutput,
        example={**JUDGED, "reviews": [REVIEW], "comments": [COMMENT]},
    )
    def get(self, request: Request, review_id: uuid.UUID) -> Response:
        """Return a review with all verdicts and comments."""
        item = self.item(review_id)
        told = {
            **ReviewItemOutput(_told(item)).data,
            "reviews": GivenReviewOutput(reviews_given(item), many=True).data,
            "comments": GivenCommentOutput(comments_given(item), many=True).data,
        }
        return Response(told)


class ReviewReserve(ReviewView):
    """Reserving a review."""

    rights = {"POST": REVIEW_RUNS, "DELETE": REVIEW_RUNS}

    @operation(
        "review_reserve",
        "Reserve a review",
        answer=ReviewItemOutput,
        errors=(409,),
        example=ITEM,
    )
    def post(self, request: Request, review_id: uuid.UUID) -> Response:
        """Hold a review for 15 minutes; call it again to hold it for 15 more.

        Needs a signed-in member who did not start the run.
        """
        item = self.item(review_id)
        return self.told(review_reserve(item=item, principal=self.principal))

    @operation("review_release", "Release a review", errors=(409,))
    def delete(self, request: Request, review_id: uuid.UUID) -> Response:
        """Leave a review that you hold to others."""
        review_release(item=self.item(review_id), principal=self.principal)
        return Response(status=204)


class ReviewJudge(ReviewView):
    """Judging a run."""

    rights = {"POST": REVIEW_RUNS}

    @operation(
        "review_judge",
        "Judge a run",
        body=JudgeInput,
        answer=ReviewItemOutput,
        errors=(409,),
        sent={name: REVIEW[name] for name in SENT},
        example=JUDGED,
    )
    def post(self, request: Request, review_id: uuid.UUID) -> Response:
        """Record a verdict. You must hold the review."""
        item = self.item(review_id)
        given = {"scores": {}, "reason": "", **self.read(JudgeInput)}
        review_judge(item=item, principal=self.principal, **given)
        return self.told(self.item(review_id))


class ReviewRequeue(ReviewView):
    """Reviewing again."""

    rights = {"POST": REVIEW_RUNS}

    @operation(
        "review_requeue",
        "Queue a reviewed run again",
        body=RequeueInput,
        answer=ReviewItemOutput,
        errors=(409,),
        sent={"reason": "New facts."},
        example={**ITEM, "round": 2, "reserved_by": None, "reserved_until": None},
    )
    def post(self, request: Request, review_id: uuid.UUID) -> Response:
        """Queue a run again that has its verdict. The verdict stays on record."""
        item = self.item(review_id)
        values = self.read(RequeueInput)
        return self.told(review_requeue(item=item, principal=self.principal, **values))


class ReviewComments(ReviewView):
    """Comments on a review."""

    rights = {"POST": REVIEW_RUNS}

    @operation(
        "review_comment",
        "Comment on a review",
        body=CommentInput,
        answer=GivenCommentOutput,
        status=201,
        sent={"text": COMMENT["text"]},
        example=COMMENT,
    )
    def post(self, request: Request, review_id: uuid.UUID) -> Response:
        """Comment on a review, whether or not it has its verdict."""
        item = self.item(review_id)
        values = self.read(CommentInput)
        review_comment(item=item, principal=self.principal, **values)
        data = GivenCommentOutput(comments_given(item)[-1]).data
        return self.created(data, f"/api/v1/reviews/{item.id}/")


def _told(item: ReviewItem) -> dict[str, Any]:
    is_held = item.is_reserved(timezone.now())
    return {
        "id": item.id,
        "run_id": item.run_id,
        "title": item.run.title,
        "requested_by": item.run.actor_name,
        "reasons": item.reason_values,
        "state": item.state,
        "round": item.round,
        "queued_at": item.queued_at,
        "reserved_by": item.reserved_name if is_held else None,
        "reserved_until": item.reserved_until if is_held else None,
        "verdict": item.verdict or None,
        "reviewed_at": item.reviewed_at,
    }
