"""Feedback on runs: from the page, over REST, and by the id of a completion."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.db import connection

from apps.accounts.models import Scope
from apps.audit.selectors import entry_list
from apps.governance.models import RunFeedback
from apps.governance.services import feedback_give
from apps.runs.models import Run
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.governance.conftest import erase, later
from tests.rest.conftest import Caller, actions, fault, keyed, member
from tests.rest.things import make_run

COMMENT = "The second figure is of 2024.\nSee the annex."


def rate(caller: Caller, run_id: uuid.UUID, rating: str, comment: str = "") -> Any:
    return caller.post(
        f"runs/{run_id}/feedback/", {"rating": rating, "comment": comment}
    )


def listed(caller: Caller, run_id: uuid.UUID) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = caller.get(f"runs/{run_id}/feedback/").json()["data"]
    return data


def test_a_rating_is_recorded_with_its_comment_apart(cast: Cast) -> None:
    run_id = make_run(cast)
    told = rate(member(cast.bob), run_id, "down", COMMENT)
    assert told.status_code == 200
    assert (told.json()["rating"], told.json()["comment"]) == ("down", COMMENT)
    (entry,) = entry_list(cast.team.id, subject_id=run_id)
    assert entry.action == "feedback.recorded"
    assert entry.data == {"rating": "down", "previous_rating": None}
    assert entry.bodies == {"comment": COMMENT}
    assert entry.actor.display == "Bob"


def test_each_has_one_rating_and_may_change_it(cast: Cast) -> None:
    run_id = make_run(cast)
    alice, bob = member(cast.alice), member(cast.bob)
    rate(alice, run_id, "up")
    rate(bob, run_id, "down", "Wrong")
    rate(bob, run_id, "up", "I misread it")
    assert [(row["actor_name"], row["rating"]) for row in listed(alice, run_id)] == [
        ("Bob", "up"),
        ("Alice", "up"),
    ]
    assert listed(alice, run_id)[0]["comment"] == "I misread it"
    newest = entry_list(cast.team.id, subject_id=run_id)[-1]
    assert newest.data["previous_rating"] == "down"


def test_a_rating_is_taken_back_and_stays_on_record(cast: Cast) -> None:
    run_id = make_run(cast)
    bob = member(cast.bob)
    rate(bob, run_id, "up")
    assert bob.delete(f"runs/{run_id}/feedback/").status_code == 204
    assert listed(bob, run_id) == []
    fault(bob.delete(f"runs/{run_id}/feedback/"), 404)
    assert actions(cast.team)[-2:] == ["feedback.recorded", "feedback.removed"]


def test_a_verified_outcome_is_recorded_beside_the_rating(cast: Cast) -> None:
    run_id = make_run(cast)
    bob = member(cast.bob)
    rate(bob, run_id, "down", COMMENT)
    outcome = {"score": 0.875, "source": "verifier"}
    told = bob.post(f"runs/{run_id}/feedback/", {"outcome": outcome}).json()
    assert (told["rating"], told["comment"]) == ("down", COMMENT)
    assert told["outcome"] == outcome
    entry = entry_list(cast.team.id, subject_id=run_id)[-1]
    assert entry.data == {
        "rating": None,
        "previous_rating": "down",
        "outcome_thousandths": 875,
        "outcome_source": "verifier",
    }
    bob.delete(f"runs/{run_id}/feedback/")
    removed = entry_list(cast.team.id, subject_id=run_id)[-1]
    assert removed.data["previous_outcome_thousandths"] == 875


def test_an_outcome_alone_is_no_rating(cast: Cast) -> None:
    run_id = make_run(cast)
    completion = {"completion_id": f"chatcmpl-{run_id.hex}"}
    outcome = {"score": 1, "source": "verifier"}
    told = member(cast.bob).post("feedback/", {**completion, "outcome": outcome})
    assert told.status_code == 200
    assert (told.json()["rating"], told.json()["outcome"]["score"]) == (None, 1)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "rating"),
        ({"rating": "great"}, "rating"),
        ({"rating": "up", "comment": "x" * 2_001}, "comment"),
        ({"rating": "up", "comment": "a\u202eb"}, "comment"),
        ({"rating": "up", "stars": 5}, "stars"),
        ({"outcome": 1}, "outcome"),
        ({"outcome": {"score": 0.5}}, "source"),
        ({"outcome": {"source": "verifier"}}, "score"),
        ({"outcome": {"score": 1.01, "source": "verifier"}}, "score"),
        ({"outcome": {"score": True, "source": "verifier"}}, "score"),
        ({"outcome": {"score": 0.5, "source": "me"}}, "source"),
        (
            {"outcome": {"score": 1, "source": "verifier"}, "comment": "So"},
            "comment",
        ),
    ],
)
def test_a_wrong_rating_is_refused(
    cast: Cast, body: dict[str, Any], field: str
) -> None:
    run_id = make_run(cast)
    error = fault(member(cast.bob).post(f"runs/{run_id}/feedback/", body), 400)
    assert field in error["message"]
    assert "feedback.recorded" not in actions(cast.team)


def test_a_run_in_progress_is_not_rated(cast: Cast) -> None:
    run_id = make_run(cast, state="running")
    fault(rate(member(cast.bob), run_id, "up"), 409)


def test_others_neither_rate_nor_read(cast: Cast) -> None:
    run_id = make_run(cast)
    fault(rate(member(cast.mallory), run_id, "up"), 404)
    fault(member(cast.mallory).get(f"runs/{run_id}/feedback/"), 404)
    fault(rate(keyed(cast.team, Scope.READ), run_id, "up"), 403)
    assert rate(member(cast.vera), run_id, "up").status_code == 200
    assert RunFeedback.objects.for_team(cast.team.id).count() == 1


def test_a_program_rates_the_completion_it_got(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.key}"}
    question = {"role": "user", "content": "What is 6 times 7?"}
    with httpx.Client(base_url=site.url, headers=headers, timeout=30) as client:
        answer = client.post(
            "/v1/chat/completions",
            json={"model": "conductor-mini", "messages": [question]},
        ).json()
        body = {"completion_id": answer["id"], "rating": "down", "comment": "No."}
        told = client.post("/api/v1/feedback/", json=body)
        assert told.status_code == 200, told.text
        for bad in ("chatcmpl-1", "x", answer["id"][:-1]):
            refused = client.post(
                "/api/v1/feedback/", json={**body, "completion_id": bad}
            )
            assert refused.status_code == 400
        unknown = {**body, "completion_id": f"chatcmpl-{uuid.uuid4().hex}"}
        assert client.post("/api/v1/feedback/", json=unknown).status_code == 404
    run = Run.objects.for_team(site.cast.team.id).get()
    (row,) = listed(member(site.cast.alice), run.id)
    assert (row["actor_name"], row["comment"]) == ("Build server", "No.")


def test_the_page_of_a_run_takes_and_shows_a_rating(site: Site) -> None:
    run_id = _answered(site)
    browser = member(site.cast.bob).client
    place = f"/runs/{run_id}/"
    assert "Is the answer good?" in browser.get(place).content.decode()
    sent = {"rating": "down", "comment": "<script>alert(1)</script>"}
    page = browser.post(f"{place}feedback/", sent, follow=True).content.decode()
    assert "Thank you: your rating is recorded." in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "Change your rating" in page
    refused = browser.post(f"{place}feedback/", {"rating": "x"}, follow=True)
    assert "unknown rating" in refused.content.decode()
    gone = browser.post(f"{place}feedback/", {"withdraw": ""}, follow=True)
    assert "Your rating is taken back." in gone.content.decode()


def test_a_comment_is_erased_with_the_content_of_the_run(
    site: Site, half_a_year: None
) -> None:
    run_id = _answered(site)
    rate(member(site.cast.bob), run_id, "down", COMMENT)
    erase(later(184))
    (row,) = listed(member(site.cast.alice), run_id)
    assert (row["rating"], row["comment"]) == ("down", None)
    page = member(site.cast.bob).client.get(f"/runs/{run_id}/").content.decode()
    assert "The comment has been erased." in page


def _answered(site: Site) -> uuid.UUID:
    """Return a run that has an answer."""
    httpx.post(
        f"{site.api_url}/chat/completions",
        json={
            "model": "conductor-mini",
            "messages": [{"role": "user", "content": "What is 6 times 7?"}],
        },
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=30,
    ).raise_for_status()
    return Run.objects.for_team(site.cast.team.id).get().id


def test_one_actor_has_one_rating_even_at_once(cast: Cast) -> None:
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))

    def give(rating: str) -> None:
        feedback_give(run=run, rating=rating, actor=ACTOR)
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(give, ["up", "down"] * 4))
    (row,) = RunFeedback.objects.for_team(cast.team.id)
    newest = entry_list(cast.team.id, subject_id=run.id)[-1]
    assert (row.entry_seq, row.rating) == (newest.seq, newest.data["rating"])
