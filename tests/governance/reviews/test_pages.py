"""The pages of the queue: what they show, what their forms do."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.core.ids import new_id
from apps.governance.models import ReviewItem
from apps.governance.reviews.reads import access_review, review_settings
from apps.governance.services import review_request, review_reserve
from apps.runs.models import Run
from tests.conftest import Cast, Site
from tests.governance.conftest import Ask, erase, later
from tests.governance.reviews.conftest import RUBRIC, principal, queued, rules
from tests.recorded import RecordedQueries
from tests.rest.conftest import member
from tests.rest.things import make_review, make_run

VERDICT = {"score-0": "4", "score-1": "pass", "verdict": "pass", "reason": ""}


def browser(user: User) -> Client:
    return member(user).client


def shown(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    return html.unescape(answer.content.decode())


def sent(client: Client, address: str, **values: Any) -> str:
    answer = client.post(address, values, follow=True)
    return html.unescape(answer.content.decode())


@pytest.fixture
def asked(site: Site, ask: Ask) -> ReviewItem:
    """A real run of the team's key that waits for a review."""
    rules(site.cast.team, rubric=RUBRIC)
    run = Run.objects.for_team(site.cast.team.id).get(id=ask())
    run.user = None  # a key whose maker has left
    run.save()
    asking = principal(site.cast.team, site.cast.bob)
    return review_request(run=run, principal=asking)


def test_an_empty_queue_explains_itself(cast: Cast, rita: User) -> None:
    page = shown(browser(rita), "/review/")
    assert "Nothing waits for a review." in page
    assert "No rule adds runs to this queue." in page
    assert "Owners and admins choose which runs are reviewed." in page
    assert "Choose which runs are reviewed" in shown(browser(cast.alice), "/review/")


def test_the_menu_leads_reviewers_to_the_queue(cast: Cast, rita: User) -> None:
    assert 'href="/review/"' in shown(browser(rita), "/runs/")
    assert 'href="/review/"' not in shown(browser(cast.bob), "/runs/")
    shown(browser(cast.bob), "/review/", 403)


def test_a_review_shows_the_run_and_exactly_what_was_sent(
    site: Site, asked: ReviewItem, rita: User
) -> None:
    page = shown(browser(rita), f"/review/{asked.id}/")
    assert "What is 17 * 23 + 4?" in page
    assert "Sent by hand" in page
    for part in ("Timeline", "Ledger", "Plan", "Sent and received", "answer, as it"):
        assert part in page
    assert "review.queued" in page
    assert 'id="reserve"' in page
    plan = shown(browser(rita), f"/review/{asked.id}/?call=plan-0")
    assert "You are" in plan or "Model 0" in plan


def test_a_run_is_reserved_judged_and_followed_by_the_next(
    site: Site, asked: ReviewItem, rita: User
) -> None:
    client, address = browser(rita), f"/review/{asked.id}/"
    other = make_review(site.cast)
    assert "Reserved for you until" in sent(client, f"{address}reservation/")
    page = sent(client, f"{address}verdict/", **{**VERDICT, "verdict": "fail"})
    assert "Say why." in page
    assert 'value="fail" checked' in page
    values = {**VERDICT, "verdict": "fail", "reason": "<b>Wrong</b>"}
    page = sent(client, f"{address}verdict/", **values)
    assert "Recorded: Fail. This is the next run." in page
    assert f"/review/{other}/verdict/" not in page  # it is not reserved yet
    assert f"/review/{other}/reservation/" in page
    done = client.get(address).content.decode()
    assert "&lt;b&gt;Wrong&lt;/b&gt;" in done
    assert "<b>Wrong" not in done
    assert access_review(site.cast.team.id, asked.id).verdict == "fail"


def test_missing_answers_are_told(site: Site, asked: ReviewItem, rita: User) -> None:
    client, address = browser(rita), f"/review/{asked.id}/"
    sent(client, f"{address}reservation/")
    page = sent(client, f"{address}verdict/", verdict="")
    assert "Unknown verdict" in page
    assert "needs one of 1, 2, 3, 4, 5" in page


def test_the_second_to_come_sees_who_was_first(
    site: Site, asked: ReviewItem, rita: User, adam: User
) -> None:
    sent(browser(rita), f"/review/{asked.id}/reservation/")
    client = browser(adam)
    page = shown(client, f"/review/{asked.id}/")
    assert "Rita has reserved this review until" in page
    assert 'id="reserve"' not in page
    assert "Rita has reserved" in sent(
        client, f"/review/{asked.id}/verdict/", **VERDICT
    )
    assert "Reserved: <bdi>Rita" in shown(client, "/review/")


def test_a_review_is_released_and_renewed(
    site: Site, asked: ReviewItem, rita: User
) -> None:
    client, place = browser(rita), f"/review/{asked.id}/reservation/"
    as_json = {"Accept": "application/json"}
    sent(client, place)
    assert client.post(place, headers=as_json).status_code == 204
    assert "free for others" in sent(client, place, release="1")
    review_reserve(item=asked, principal=principal(site.cast.team, site.cast.alice))
    assert client.post(place, headers=as_json).status_code == 409


def test_comments_and_another_round(site: Site, asked: ReviewItem, rita: User) -> None:
    client, address = browser(rita), f"/review/{asked.id}/"
    page = sent(client, f"{address}comments/", text="See step 1.")
    assert "See step 1." in page
    assert "Write a comment." in sent(client, f"{address}comments/", text=" ")
    sent(client, f"{address}reservation/")
    assert "Nothing else waits for you." in sent(
        client, f"{address}verdict/", **VERDICT
    )
    assert "Say why." in sent(client, f"{address}again/", reason="")
    assert "Review again" in shown(client, address)
    assert "in the queue again" in sent(client, f"{address}again/", reason="New facts")
    assert "Round 2" in shown(client, address)


def test_what_people_wrote_is_erased_with_the_run(
    site: Site, asked: ReviewItem, rita: User, half_a_year: None
) -> None:
    client, address = browser(rita), f"/review/{asked.id}/"
    sent(client, f"{address}comments/", text="See step 1.")
    sent(client, f"{address}reservation/")
    sent(client, f"{address}verdict/", **{**VERDICT, "reason": "Well done"})
    erase(later(184))
    page = shown(client, address)
    assert "See step 1." not in page
    assert "Well done" not in page
    assert "The reason has been erased." in page
    assert "The comment has been erased." in page


def test_a_run_is_sent_from_its_page(site: Site, ask: Ask, rita: User) -> None:
    run_id = ask()
    page = sent(browser(site.cast.vera), f"/runs/{run_id}/review/")
    assert "The run is in the review queue." in page
    assert "waiting for review" in page
    item = queued(site.cast, run_id)
    assert f"/review/{item.id}/" in shown(browser(rita), f"/runs/{run_id}/")


def test_the_queue_is_filtered(cast: Cast, rita: User) -> None:
    make_review(cast)
    client = browser(rita)
    title = "What is 17 * 23 + 4?"
    assert title in shown(client, "/review/?reason=manual")
    assert "No run here has this reason." in shown(client, "/review/?reason=cost")
    assert title in shown(client, "/review/?state=nonsense&reason=nonsense")
    assert "No run has been reviewed yet." in shown(client, "/review/?state=reviewed")
    assert "You hold no review" in shown(client, "/review/?state=mine")


def test_strangers_see_no_review(cast: Cast) -> None:
    review_id = make_review(cast)
    client = browser(cast.mallory)
    shown(client, f"/review/{review_id}/", 404)
    shown(client, f"/review/{new_id()}/", 404)
    assert "17 * 23" not in shown(client, "/review/?state=all")
    assert client.post(f"/review/{review_id}/reservation/").status_code == 404


def test_the_list_asks_the_database_as_often_for_many(
    cast: Cast, rita: User, recorded_queries: RecordedQueries
) -> None:
    client = browser(rita)
    for _ in range(5):
        make_review(cast)
    client.get("/review/")
    with recorded_queries():
        client.get("/review/")


def test_the_rules_are_changed_on_their_page(cast: Cast, rita: User) -> None:
    values = {
        "failures": "on",
        "cost_over_usd": "0.5",
        "sample_percent": "20",
        "rubric": "Correct\nSafe: pass or fail\nTone: kind",
        "second_reviewer": "on",
        "version": "0",
    }
    client = browser(cast.alice)
    assert "are saved" in sent(client, "/review/settings/", **values)
    assert review_settings(cast.team.id).document == {
        "failures": True,
        "cost_over_usd": "0.5",
        "sample_percent": 20,
        "rubric": [
            {"name": "Correct"},
            {"name": "Safe", "kind": "pass_fail"},
            {"name": "Tone: kind"},
        ],
        "second_reviewer": True,
    }
    assert "at version 1 by now" in sent(client, "/review/settings/", **values)
    twice = {**values, "version": "1", "rubric": "A\na"}
    assert "same name" in sent(client, "/review/settings/", **twice)
    assert "Safe: pass or fail" in shown(client, "/review/settings/")
    assert browser(rita).post("/review/settings/", values).status_code == 403
    assert "lets you see this page" in shown(browser(rita), "/review/settings/")


def test_a_run_in_progress_is_not_sent(cast: Cast) -> None:
    run_id = make_run(cast, state="running", created_at=timezone.now())
    answer = browser(cast.bob).post(f"/runs/{run_id}/review/")
    assert answer.status_code == 302
    assert not ReviewItem.objects.for_team(cast.team.id).exists()


def test_a_long_queue_has_pages(
    cast: Cast, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.playground.review_page.LISTED", 2)
    rules(cast.team, rubric=RUBRIC)
    items = []
    for _ in range(5):
        run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
        asking = principal(cast.team, cast.bob)
        items.append(str(review_request(run=run, principal=asking).id))
    client = browser(rita)
    listed = []
    for number in (1, 2, 3):
        page = shown(client, f"/review/?reason=manual&page={number}")
        listed += [each for each in items if f'row" href="/review/{each}/' in page]
        assert ('rel="prev"' in page) is (number > 1)
        assert ('rel="next"' in page) is (number < 3)
    assert listed == items
    assert f"/review/{items[2]}/?reason=manual&page=2" in shown(
        client, "/review/?reason=manual&page=2"
    )
    assert "nothing on this page any more" in shown(client, "/review/?page=9")
    for rubbish in ("0", "-1", "x", "1e9", "999999999"):
        assert items[0] in shown(client, f"/review/?page={rubbish}")


def test_a_verdict_with_the_right_answer_makes_a_task(
    site: Site, asked: ReviewItem, rita: User
) -> None:
    client, address = browser(rita), f"/review/{asked.id}/"
    sent(client, f"{address}reservation/")
    values = {**VERDICT, "verdict": "fail", "reason": "Wrong", "is_task": "on"}
    page = sent(client, f"{address}verdict/", **values)
    assert "Right answer: Write the right answer" in page
    assert 'name="is_task" checked' in page
    page = sent(client, f"{address}verdict/", **values, right_answer="It is <42>.")
    assert "Recorded: Fail." in page
    page = shown(client, "/review/?state=tasks")
    assert f"/review/{asked.id}/" in page
    assert "It is <42>." in shown(client, address)
    told = member(rita).get("reviews/?state=tasks").json()["data"]
    assert [row["id"] for row in told] == [str(asked.id)]
    (given,) = member(rita).get(f"reviews/{asked.id}/").json()["reviews"]
    assert (given["is_task"], given["right_answer"]) == (True, "It is <42>.")


def test_rest_makes_a_task_too(site: Site, asked: ReviewItem, rita: User) -> None:
    caller = member(rita)
    assert "made a run a task" in shown(caller.client, "/review/?state=tasks")
    assert caller.post(f"reviews/{asked.id}/reservation/", {}).status_code == 200
    body = {"verdict": "pass", "scores": {"Correct": 5, "Safe": "pass"}}
    answer = caller.post(f"reviews/{asked.id}/judge/", {**body, "is_task": True})
    assert answer.status_code == 200, answer.content
    (given,) = caller.get(f"reviews/{asked.id}/").json()["reviews"]
    assert (given["is_task"], given["right_answer"]) == (True, "")
