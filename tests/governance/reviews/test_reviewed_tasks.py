"""Reviewed runs become tasks of a suite: by service, page, REST and command."""

from __future__ import annotations

import uuid
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from apps.accounts.models import Scope, User
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.errors import InvalidFields
from apps.engine import events as ev
from apps.engine.codec import encode
from apps.evaluation.models import StoredTask, SuiteVersion
from apps.evaluation.suites.reviewed import (
    CONVERSATION,
    ERASED,
    IMAGES,
    NO_ANSWER,
    NO_NUMBER,
    TOOLS,
    ReviewedAddition,
    suite_add_reviewed,
)
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.governance.services import (
    retention_set,
    review_request,
    review_settings_replace,
)
from apps.runs.models import Run
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.gateway.fakes import completed
from tests.governance.conftest import erase, later
from tests.governance.reviews.conftest import NOW, RUBRIC, principal, rules
from tests.governance.reviews.test_pages import browser, sent, shown
from tests.governance.reviews.test_reviewing import judge
from tests.rest.conftest import fault, keyed, member
from tests.rest.things import make_run

PROMPT = "What is 17 * 23 + 4?"
ANSWER = "17 * 23 is 391.\n\nThe answer is 395."
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
WRONG: dict[str, Any] = {"verdict": "fail", "reason": "No", "right_answer": "It is 5."}


def record_run(cast: Cast, answer: str = ANSWER, **params: Any) -> Run:
    """Put a run on record that has ended with this answer."""
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
    texts = orjson.dumps(params).decode() if params else ""
    created = ev.RunCreated(PROMPT, "mini", "house", 1, "llm", False, {}, texts)
    events: tuple[ev.Event, ...] = (created, completed(answer))
    drafts = []
    for event in events:
        action, data, bodies = encode(event)
        drafts.append(EntryDraft(action, "run", run.id, ACTOR, data, bodies))
    with transaction.atomic():
        entries_append(batch=Batch(cast.team.id, tuple(drafts)))
    return run


def reviewed(
    cast: Cast, rita: User, answer: str = ANSWER, params: Any = None, **verdict: Any
) -> uuid.UUID:
    """Record a run that rita marks as a task; it passes unless `verdict` says more."""
    rules(cast.team, rubric=RUBRIC)
    run = record_run(cast, answer, **(params or {}))
    asking = principal(cast.team, cast.bob)
    item = review_request(run=run, principal=asking, now=NOW)
    judge(cast, item, rita, 0, **{"is_task": True, **verdict})
    return run.id


def add(cast: Cast, verifier: str = "exact", **values: Any) -> ReviewedAddition:
    given = {"verifier": verifier, **values}
    return suite_add_reviewed(
        team=cast.team, name="reviewed", values=given, actor=ACTOR
    )


def tasks(version: SuiteVersion | None) -> list[SuiteTask]:
    assert version is not None
    rows = StoredTask.objects.for_team(version.team_id).filter(version=version)
    return [task_read(row) for row in rows.order_by("index")]


# --- tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"verifier": "exact"}, "395"),
        ({"verifier": "numeric"}, "395"),
        ({"verifier": "model_graded", "rubric": "The same number."}, ANSWER),
    ],
)
def test_the_answer_of_a_run_that_passed_is_the_right_one(
    cast: Cast, rita: User, values: dict[str, str], wanted: str
) -> None:
    run_id = reviewed(cast, rita)
    (task,) = tasks(add(cast, family="sums", **values).version)
    assert (task.id, task.family, task.prompt) == (f"review-{run_id}", "sums", PROMPT)
    verifier = task.verifier.model_dump(mode="json")
    assert verifier["kind"] == values["verifier"]
    assert verifier.get("reference", verifier.get("answer")) == wanted
    if values["verifier"] != "model_graded":
        assert task.verifier.grade(ANSWER).is_right


def test_of_a_run_that_failed_the_right_answer_is_the_reviewers(
    cast: Cast, rita: User
) -> None:
    reviewed(cast, rita, **WRONG)
    (task,) = tasks(add(cast, "numeric").version)
    assert task.verifier.model_dump(mode="json")["answer"] == "5"
    assert task.family == "reviewed"


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"messages": [{"role": "user", "content": "Hi"}] * 3}, CONVERSATION),
        ({"tools": [{"type": "function"}]}, TOOLS),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, IMAGES),
    ],
)
def test_runs_that_are_more_than_a_prompt_are_named_and_left_out(
    cast: Cast, rita: User, params: dict[str, Any], why: str
) -> None:
    run_id = reviewed(cast, rita, params=params)
    added = add(cast)
    assert [(each.run_id, each.reason) for each in added.skipped] == [(run_id, why)]
    assert (added.version, added.tasks, added.is_new) == (None, 0, False)


def test_a_run_whose_text_is_erased_is_left_out(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    row = retention_set(team=cast.team, days=183, actor=ACTOR)
    row.begins_at = None
    row.save()
    assert erase(later(200))
    (skipped,) = add(cast).skipped
    assert skipped.reason == ERASED


def test_a_numeric_task_needs_a_number(cast: Cast, rita: User) -> None:
    reviewed(cast, rita, answer="PostgreSQL.")
    (skipped,) = add(cast, "numeric").skipped
    assert skipped.reason == NO_NUMBER


def test_without_a_pass_the_run_has_no_right_answer_of_its_own(
    cast: Cast, rita: User, adam: User
) -> None:
    values = {"rubric": RUBRIC, "second_reviewer": True}
    review_settings_replace(team=cast.team, values=values, actor=ACTOR)
    run = record_run(cast)
    asking = principal(cast.team, cast.bob)
    item = review_request(run=run, principal=asking, now=NOW)
    judge(cast, item, rita, 0, is_task=True)
    judge(cast, item, adam, 2, verdict="fail", reason="No")
    (skipped,) = add(cast).skipped
    assert skipped.reason == NO_ANSWER


# --- versions -------------------------------------------------------------------------


def test_adding_twice_makes_no_new_version(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    first, second = add(cast), add(cast)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.version == second.version


def test_what_is_in_the_suite_stays_and_what_is_new_follows(
    cast: Cast, rita: User
) -> None:
    first = reviewed(cast, rita)
    add(cast)
    second = reviewed(cast, rita, **WRONG)
    version = add(cast).version
    assert version is not None
    assert version.number == 2
    assert [task.id for task in tasks(version)] == [
        f"review-{first}",
        f"review-{second}",
    ]


def test_another_verifier_replaces_the_task(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    add(cast)
    (task,) = tasks(add(cast, "numeric").version)
    assert task.verifier.kind == "numeric"


@pytest.mark.parametrize(
    "values",
    [
        {"verifier": "model_graded"},
        {"verifier": "exact", "rubric": "Be right."},
        {"verifier": "unit_tests"},
        {"family": "two\nlines", "verifier": "exact"},
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(
    cast: Cast, values: dict[str, str]
) -> None:
    with pytest.raises(InvalidFields):
        suite_add_reviewed(team=cast.team, name="x", values=values, actor=ACTOR)


def test_tasks_of_other_teams_are_not_added(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    added = suite_add_reviewed(
        team=cast.other_team, name="x", values={"verifier": "exact"}, actor=ACTOR
    )
    assert (added.version, added.skipped) == (None, ())


# --- over REST ------------------------------------------------------------------------


def test_over_rest_the_suite_is_made_and_says_what_is_in_it(
    cast: Cast, rita: User
) -> None:
    reviewed(cast, rita)
    run_id = reviewed(cast, rita, params={"tools": [{"type": "function"}]})
    body = {"name": "reviewed", "verifier": "numeric"}
    answer = member(cast.alice).post("suites/reviewed/", body)
    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert (told["suite"], told["version"], told["tasks"]) == ("reviewed", 1, 1)
    assert [each["run_id"] for each in told["skipped"]] == [str(run_id)]


def test_over_rest_nothing_to_add_is_said(cast: Cast) -> None:
    body = {"name": "reviewed", "verifier": "numeric"}
    told = member(cast.alice).post("suites/reviewed/", body).json()
    assert told == {
        "suite": None,
        "version": None,
        "tasks": 0,
        "is_new_version": False,
        "skipped": [],
    }


def test_a_key_needs_to_read_reviews_too(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    body = {"name": "reviewed", "verifier": "numeric"}
    fault(keyed(cast.team, Scope.POOLS_WRITE).post("suites/reviewed/", body), 403)
    both = keyed(cast.team, Scope.POOLS_WRITE, Scope.AUDIT_READ)
    assert both.post("suites/reviewed/", body).status_code == 200


def test_reviewers_and_outsiders_make_no_suite(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    body = {"name": "reviewed", "verifier": "numeric"}
    fault(member(rita).post("suites/reviewed/", body), 403)
    told = member(cast.mallory).post("suites/reviewed/", body).json()
    assert (told["tasks"], told["skipped"]) == (0, [])


# --- on the page ----------------------------------------------------------------------


def test_the_list_of_tasks_makes_a_suite(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    reviewed(cast, rita, params={"tools": [{"type": "function"}]})
    client = browser(cast.alice)
    assert "Add these tasks to a suite" not in shown(client, "/review/")
    assert "Add these tasks to a suite" in shown(client, "/review/?state=tasks")
    values = {"name": "reviewed", "verifier": "exact", "rubric": "", "family": ""}
    page = sent(client, "/review/tasks/", **values)
    assert "1 run is in the suite “reviewed”, version 1." in page
    assert f"Left out: “{PROMPT}”: {TOOLS}." in page
    assert "version 1, as before." in sent(client, "/review/tasks/", **values)


def test_a_fault_keeps_what_was_written(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    client = browser(cast.alice)
    values = {"name": "sums", "verifier": "exact", "rubric": "Be right."}
    answer = client.post("/review/tasks/?state=tasks", values)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "no other verifier does" in page
    assert 'value="sums"' in page
    assert ">Be right.</textarea>" in page


def test_reviewers_see_no_form_for_suites(cast: Cast, rita: User) -> None:
    reviewed(cast, rita)
    assert "to a suite" not in shown(browser(rita), "/review/?state=tasks")
    answer = browser(rita).post("/review/tasks/", {"name": "x", "verifier": "exact"})
    assert answer.status_code == 403


# --- by command -----------------------------------------------------------------------


def test_the_command_adds_reviewed_runs(cast: Cast, rita: User, capsys: Any) -> None:
    reviewed(cast, rita)
    run_id = reviewed(cast, rita, params={"tools": [{"type": "function"}]})
    place = ("--team", cast.team.slug, "--name", "reviewed")
    call_command("suite_import", *place, "--reviewed", "exact", "--family", "sums")
    told = capsys.readouterr()
    assert "suite 'reviewed', version 1: 1 tasks" in told.out
    assert f"run {run_id} is left out: {TOOLS}" in told.err


def test_the_command_says_that_there_is_nothing(cast: Cast) -> None:
    with pytest.raises(CommandError, match="no reviewed run of this team"):
        call_command(
            "suite_import", "--team", cast.team.slug, "--name", "x", "--reviewed=exact"
        )


@pytest.mark.parametrize("source", [(), ("tasks.jsonl", "--reviewed", "exact")])
def test_the_command_takes_either_a_file_or_reviewed_runs(
    cast: Cast, source: tuple[str, ...]
) -> None:
    with pytest.raises(CommandError):
        call_command("suite_import", *source, "--team", cast.team.slug, "--name", "x")
