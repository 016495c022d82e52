"""What is done with several runs of the list at once."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.core.ids import new_id
from apps.governance.models import ReviewItem
from apps.runs.coordination import cancel_requests
from apps.runs.models import Run, RunState
from apps.runs.selectors import labels_of
from tests.playground import stories
from tests.playground.conftest import record_run

URL = "/runs/selected/"


@pytest.fixture
def other(team: Team) -> Run:
    return record_run(team, stories.finished(), title="The other run")


@pytest.fixture
def running(team: Team) -> Run:
    return record_run(
        team, stories.planning(), state=RunState.RUNNING, title="A running run"
    )


def send(client: Client, action: str, *runs: Any, query: str = "", **more: str) -> Any:
    client.cookies.pop("messages", None)  # those of the last request
    ids = [str(getattr(run, "id", run)) for run in runs]
    return client.post(f"{URL}{query}", {"action": action, "run": ids, **more})


def notices(response: Any) -> list[str]:
    assert response.status_code == 302, response.content
    return [str(message) for message in get_messages(response.wsgi_request)]


def tags(run: Run) -> tuple[str, ...]:
    return labels_of(run.team_id, [run.id])[run.id].tags


def actions(team: Team, run: Run) -> list[str]:
    entries = Entry.objects.for_team(team.id).filter(subject_id=run.id).order_by("seq")
    return list(entries.values_list("action", flat=True))


def test_tags_are_added_to_those_that_are_there(
    bob: Client, team: Team, run: Run, other: Run
) -> None:
    send(bob, "tag", run, tags="old")
    assert notices(send(bob, "tag", run, other, tags="new, checked")) == [
        "2 runs were tagged."
    ]
    assert (tags(run), tags(other)) == (("checked", "new", "old"), ("checked", "new"))
    entry = Entry.objects.for_team(team.id).filter(action="run.tagged").latest("seq")
    assert json.loads(bytes(entry.canonical))["data"] == {"added": 2, "removed": 0}


def test_tags_are_removed_and_others_stay(bob: Client, run: Run, other: Run) -> None:
    send(bob, "tag", run, tags="old, new")
    assert notices(send(bob, "untag", run, other, tags="old")) == [
        "Tags were removed from 1 run.",
        "1 run has none of these tags: “The other run”.",
    ]
    assert tags(run) == ("new",)


def test_run_that_has_the_tags_gets_no_entry(
    bob: Client, team: Team, run: Run, other: Run
) -> None:
    send(bob, "tag", other, tags="old")
    texts = notices(send(bob, "tag", run, other, tags="old"))
    assert texts[1] == "1 run has these tags already: “The other run”."
    assert actions(team, other).count("run.tagged") == 1


def test_run_with_most_tags_is_left_and_named(
    bob: Client, run: Run, other: Run
) -> None:
    send(bob, "tag", other, tags=",".join(f"t{number}" for number in range(20)))
    texts = notices(send(bob, "tag", run, other, tags="one more"))
    assert texts == [
        "1 run was tagged.",
        "1 run would have more than 20 tags and was not tagged: “The other run”.",
    ]
    assert len(tags(other)) == 20


@pytest.mark.parametrize("given", ["", " , ", "x" * 51])
def test_bad_tags_change_nothing(bob: Client, run: Run, given: str) -> None:
    assert len(notices(send(bob, "tag", run, tags=given))) == 1
    assert tags(run) == ()


def test_runs_are_sent_to_review_but_for_those_in_progress(
    bob: Client, team: Team, run: Run, other: Run, running: Run
) -> None:
    send(bob, "review", other)
    assert notices(send(bob, "review", run, other, running)) == [
        "1 run was sent to review.",
        "1 run is in progress and was not sent to review: “A running run”.",
        "1 run waits for review already: “The other run”.",
    ]
    assert ReviewItem.objects.for_team(team.id).count() == 2
    assert actions(team, run)[-1] == actions(team, other)[-1] == "review.queued"


def test_runs_that_have_ended_are_not_stopped(
    bob: Client, run: Run, other: Run
) -> None:
    (text,) = notices(send(bob, "stop", run, other))
    assert text.startswith("2 runs are finished already and were not stopped: ")


def test_run_of_another_process_that_does_not_end_in_time_is_named(
    bob: Client, running: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancel_requests, "PATIENCE_S", 0.0)
    (text,) = notices(send(bob, "stop", running))
    assert text == "1 run was asked to stop and has not ended yet: “A running run”."
    (request,) = cancel_requests.cancel_requests_take([running.id])
    assert request.reason.startswith("stopped by ")


def test_selected_runs_are_exported(
    alice: Client, team: Team, run: Run, other: Run, running: Run
) -> None:
    response = send(alice, "csv", run, other)
    text = b"".join(response).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in rows] == [str(other.id), str(run.id)]
    entry = Entry.objects.for_team(team.id).latest("seq")
    facts = json.loads(bytes(entry.canonical))["data"]
    assert facts == {"format": "csv", "filters": ["selected"]}


def test_all_that_match_are_those_of_the_filters(
    bob: Client, run: Run, other: Run, running: Run
) -> None:
    response = send(bob, "tag", query="?state=completed", all="1", tags="x")
    assert notices(response) == ["2 runs were tagged."]
    assert response["Location"] == "/runs/?state=completed"
    assert tags(running) == ()


def test_more_than_the_most_are_refused(
    bob: Client, run: Run, other: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "apps.playground.run_lists.selected.MAX_SELECTED_RUNS"
    monkeypatch.setattr(limit, 1)
    words = ["At most 1 runs can be changed at once. Set more filters."]
    assert notices(send(bob, "tag", run, other, tags="x")) == words
    assert notices(send(bob, "tag", all="1", tags="x")) == words
    assert tags(run) == ()


@pytest.mark.parametrize("action", ["tag", "review", "stop", "csv"])
def test_ids_of_another_team_are_as_if_they_did_not_exist(
    mallory: Client, run: Run, action: str
) -> None:
    own = send(mallory, action, run, tags="x")
    nobody = send(mallory, action, new_id(), tags="x")
    if action == "csv":
        assert b"".join(own) == b"".join(nobody)
    else:
        words = "1 of the selected runs does not exist."
        assert notices(own) == notices(nobody) == [words]
    assert tags(run) == ()


@pytest.mark.parametrize(
    ("who", "action", "status"),
    [
        ("vera", "tag", 403),
        ("vera", "untag", 403),
        ("vera", "stop", 403),
        ("vera", "csv", 403),
        ("vera", "review", 302),
        ("bob", "jsonl", 403),
        ("bob", "erase", 400),
    ],
)
def test_each_action_needs_the_right_of_a_single_one(
    who: str, action: str, status: int, run: Run, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(who)
    assert send(client, action, run, tags="x").status_code == status
    assert tags(run) == ()


@pytest.mark.parametrize("runs", [(), ("nonsense",)])
def test_no_selection_is_said(bob: Client, runs: tuple[str, ...]) -> None:
    assert len(notices(send(bob, "stop", *runs))) == 1


def test_form_without_a_token_is_refused(team: Team, bob: Client, run: Run) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = bob.cookies
    assert send(strict, "tag", run, tags="x").status_code == 403


def test_only_what_one_may_do_is_offered(vera: Client, alice: Client, run: Run) -> None:
    seen, whole = (each.get("/runs/").content.decode() for each in (vera, alice))
    offered = ('value="review"', 'value="stop"', 'value="untag"', 'value="jsonl"')
    assert [each in seen for each in offered] == [True, False, False, False]
    assert all(each in whole for each in offered)


def test_queries_do_not_grow_with_the_runs(bob: Client, team: Team) -> None:
    counts = []
    for number in (2, 12):
        runs = [record_run(team, stories.finished()) for _ in range(number)]
        with CaptureQueriesContext(connection) as queries:
            send(bob, "tag", *runs, tags="x")
        counts.append(len(queries))
    assert counts[0] == counts[1]
