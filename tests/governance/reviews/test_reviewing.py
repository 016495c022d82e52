"""Who holds a review, who may judge it, and what is on record of that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.audit.selectors import entry_list
from apps.core.errors import Conflict, InvalidFields, NotAllowed, NotFound
from apps.governance.models import Review, ReviewItem
from apps.governance.reviews.reads import (
    access_review,
    comments_given,
    next_review,
    review_figures,
    review_items,
    reviews_given,
)
from apps.governance.services import (
    review_comment,
    review_judge,
    review_release,
    review_requeue,
    review_reserve,
)
from tests.conftest import Cast
from tests.governance.reviews.conftest import (
    NOW,
    RUBRIC,
    SCORES,
    minutes,
    principal,
    rules,
)


def fresh(item: ReviewItem) -> ReviewItem:
    return access_review(item.team_id, item.id)


def judge(cast: Cast, item: ReviewItem, who: User, at: float, **values: Any) -> Review:
    """Reserve a review and judge it a minute later."""
    by = principal(cast.team, who)
    review_reserve(item=item, principal=by, now=minutes(at))
    given = {"verdict": "pass", "scores": SCORES, "reason": "", **values}
    return review_judge(item=item, principal=by, now=minutes(at + 1), **given)


def test_whoever_comes_second_learns_who_was_first(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    review_reserve(item=item, principal=principal(cast.team, rita), now=NOW)
    with pytest.raises(Conflict, match="Rita has reserved this review until 12:15 UTC"):
        review_reserve(item=item, principal=principal(cast.team, adam), now=minutes(14))


def test_a_reservation_ends_by_itself(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    first, second = principal(cast.team, rita), principal(cast.team, adam)
    review_reserve(item=item, principal=first, now=NOW)
    review_reserve(item=item, principal=second, now=minutes(15))
    assert fresh(item).reserved_by == adam
    with pytest.raises(Conflict, match="Adam has reserved"):
        review_judge(
            item=item, principal=first, verdict="pass", scores=SCORES, now=minutes(16)
        )


def test_a_reservation_is_renewed_without_another_entry(
    cast: Cast, item: ReviewItem, rita: User
) -> None:
    by = principal(cast.team, rita)
    review_reserve(item=item, principal=by, now=NOW)
    review_reserve(item=item, principal=by, now=minutes(10))
    assert fresh(item).reserved_until == minutes(25)
    entries = entry_list(cast.team.id, subject_id=item.run_id)
    assert [entry.action for entry in entries] == ["review.queued", "review.reserved"]


def test_of_many_at_once_one_gets_it(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    def reserve(who: User) -> str:
        try:
            review_reserve(item=item, principal=principal(cast.team, who), now=NOW)
            return who.name
        except Conflict:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        names = set(pool.map(reserve, [rita, adam] * 3)) - {""}
    assert len(names) == 1
    assert fresh(item).reserved_name in names


def test_a_released_review_is_free(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    by = principal(cast.team, rita)
    review_reserve(item=item, principal=by, now=NOW)
    review_release(item=item, principal=by, now=minutes(1))
    with pytest.raises(Conflict):
        review_release(item=item, principal=by, now=minutes(1))
    review_reserve(item=item, principal=principal(cast.team, adam), now=minutes(2))


def test_nobody_reviews_their_own_run(cast: Cast, item: ReviewItem) -> None:
    with pytest.raises(NotAllowed, match="your own"):
        review_reserve(item=item, principal=principal(cast.team, cast.alice))
    assert next_review(cast.team.id, cast.alice.id) is None


def test_roles_without_the_right_and_strangers_do_not_review(
    cast: Cast, item: ReviewItem
) -> None:
    with pytest.raises(NotAllowed):
        review_reserve(item=item, principal=principal(cast.team, cast.bob))
    with pytest.raises(NotFound):
        review_reserve(item=item, principal=principal(cast.other_team, cast.mallory))


def test_a_verdict_is_recorded_with_its_reason_apart(
    cast: Cast, item: ReviewItem, rita: User
) -> None:
    judge(cast, item, rita, 29, verdict="fail", reason="The sum is wrong.")
    row = fresh(item)
    assert (row.state, row.verdict) == ("reviewed", "fail")
    assert (row.reserved_by, row.reserved_until) == (None, None)
    entry = entry_list(cast.team.id, subject_id=item.run_id)[-1]
    assert entry.action == "review.judged"
    assert entry.data == {
        "review_id": str(item.id),
        "round": 1,
        "place": 1,
        "verdict": "fail",
        "scores": SCORES,
        "agrees": None,
        "is_task": False,
    }
    assert entry.bodies == {"reason": "The sum is wrong."}
    (given,) = reviews_given(row)
    assert (given.reviewer_name, given.reason) == ("Rita", "The sum is wrong.")
    assert Review.objects.for_team(cast.team.id).get().waited_s == 30 * 60
    with pytest.raises(Conflict, match="has been reviewed"):
        judge(cast, item, rita, 31)


def test_a_verdict_needs_a_reservation_that_holds(
    cast: Cast, item: ReviewItem, rita: User
) -> None:
    by = principal(cast.team, rita)
    review_reserve(item=item, principal=by, now=NOW)
    with pytest.raises(Conflict, match="your reservation is over"):
        review_judge(
            item=item, principal=by, verdict="pass", scores=SCORES, now=minutes(15)
        )


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"verdict": "great"}, "verdict"),
        ({"verdict": "fail"}, "reason"),
        ({"verdict": "needs_change", "reason": "  "}, "reason"),
        ({"reason": "x" * 2_001}, "reason"),
        ({"reason": "a\u202eb"}, "reason"),
        ({"scores": {"Correct": 4}}, "scores"),
        ({"scores": {**SCORES, "Correct": 6}}, "scores"),
        ({"scores": {**SCORES, "Correct": True}}, "scores"),
        ({"scores": {**SCORES, "Correct": [1]}}, "scores"),
        ({"scores": {**SCORES, "Kind": 1}}, "scores"),
        ({"scores": 5}, "scores"),
        ({"verdict": "fail", "reason": "No", "is_task": True}, "right_answer"),
        ({"right_answer": "x" * 20_001}, "right_answer"),
    ],
)
def test_a_wrong_verdict_is_refused(
    cast: Cast, item: ReviewItem, rita: User, values: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidFields) as caught:
        judge(cast, item, rita, 0, **values)
    assert list(caught.value.fields) == [field]
    assert fresh(item).state == "waiting"


def test_a_verdict_makes_a_run_a_task_for_evaluations(
    cast: Cast, item: ReviewItem, rita: User
) -> None:
    values = {"verdict": "fail", "reason": "Wrong", "right_answer": "It is 42."}
    judge(cast, item, rita, 0, is_task=True, **values)
    entry = entry_list(cast.team.id, subject_id=item.run_id)[-1]
    assert entry.data["is_task"] is True
    assert entry.bodies == {"reason": "Wrong", "right_answer": "It is 42."}
    (given,) = reviews_given(fresh(item))
    assert (given.is_task, given.right_answer) == (True, "It is 42.")
    assert list(review_items(cast.team.id, state="tasks")) == [item]
    by = principal(cast.team, rita)
    review_requeue(item=item, principal=by, reason="Again", now=minutes(5))
    assert list(review_items(cast.team.id, state="tasks")) == []
    judge(cast, item, rita, 6, is_task=True)  # its answer passes
    assert list(review_items(cast.team.id, state="tasks")) == [item]


def test_a_task_that_waits_for_a_second_reviewer_is_none_yet(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    rules(cast.team, rubric=RUBRIC, second_reviewer=True)
    judge(cast, item, rita, 0, is_task=True)
    assert list(review_items(cast.team.id, state="tasks")) == []
    judge(cast, item, adam, 5)
    assert list(review_items(cast.team.id, state="tasks")) == [item]


def test_a_second_reviewer_is_another_person(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    rules(cast.team, rubric=RUBRIC, second_reviewer=True)
    judge(cast, item, rita, 0, verdict="fail", reason="Wrong.")
    assert fresh(item).state == "second"
    assert next_review(cast.team.id, rita.id, minutes(5)) is None
    assert next_review(cast.team.id, adam.id, minutes(5)) == item
    with pytest.raises(NotAllowed, match="the second is somebody else"):
        review_reserve(item=item, principal=principal(cast.team, rita), now=minutes(5))
    second = judge(cast, item, adam, 10)
    assert (second.place, second.agrees) == (2, False)
    row = fresh(item)
    assert (row.state, row.verdict) == ("reviewed", "fail")


def test_a_reviewed_run_is_queued_again_with_a_reason(
    cast: Cast, item: ReviewItem, rita: User
) -> None:
    by = principal(cast.team, rita)
    with pytest.raises(Conflict, match="in the queue already"):
        review_requeue(item=item, principal=by, reason="Again")
    judge(cast, item, rita, 0)
    with pytest.raises(InvalidFields):
        review_requeue(item=item, principal=by, reason="")
    review_requeue(item=item, principal=by, reason="New facts", now=minutes(60))
    row = fresh(item)
    assert (row.state, row.round, row.verdict) == ("waiting", 2, "")
    judge(cast, item, rita, 70, verdict="fail", reason="Indeed.")
    assert [each.round for each in reviews_given(row)] == [1, 2]
    entries = entry_list(cast.team.id, subject_id=item.run_id)
    requeued = next(e for e in entries if e.action == "review.requeued")
    assert requeued.data["previous_verdict"] == "pass"
    assert requeued.bodies == {"reason": "New facts"}


def test_comments_are_kept_with_their_authors(
    cast: Cast, item: ReviewItem, rita: User
) -> None:
    by = principal(cast.team, rita)
    review_comment(item=item, principal=by, text="See step 2.", now=NOW)
    with pytest.raises(InvalidFields):
        review_comment(item=item, principal=by, text=" ", now=NOW)
    (comment,) = comments_given(item)
    assert (comment.author_name, comment.text) == ("Rita", "See step 2.")


def test_lists_show_what_waits_what_is_mine_and_what_is_done(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    def shown(state: str, who: User, at: float) -> int:
        rows = review_items(cast.team.id, state=state, user_id=who.id, now=minutes(at))
        return rows.count()

    by = principal(cast.team, rita)
    review_reserve(item=item, principal=by, now=NOW)
    assert [shown("mine", rita, 1), shown("mine", adam, 1)] == [1, 0]
    assert [shown("mine", rita, 15), shown("waiting", adam, 1)] == [0, 1]
    judge(cast, item, rita, 20)
    assert [shown("mine", rita, 30), shown("waiting", rita, 30)] == [1, 0]
    assert shown("reviewed", adam, 30) == 1
    assert review_items(cast.team.id, state="all", reason="manual").count() == 1
    assert review_items(cast.team.id, state="all", reason="cost").count() == 0
    assert review_items(cast.other_team.id, state="all").count() == 0


def test_figures_tell_time_verdicts_and_agreement(
    cast: Cast, item: ReviewItem, rita: User, adam: User
) -> None:
    assert review_figures(cast.team.id, NOW).median_wait_s is None
    rules(cast.team, rubric=RUBRIC, second_reviewer=True)
    judge(cast, item, rita, 9)
    judge(cast, item, adam, 19)
    figures = review_figures(cast.team.id, minutes(30))
    assert (figures.reviews, figures.waiting) == (2, 0)
    assert figures.verdicts == {"pass": 2, "needs_change": 0, "fail": 0}
    assert figures.median_wait_s == 15 * 60
    assert figures.agreement_percent == 100
    assert review_figures(cast.team.id, NOW + timedelta(days=91)).reviews == 0
