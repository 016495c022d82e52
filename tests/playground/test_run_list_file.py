"""The list of runs as a file."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.runs import list_export
from apps.runs.models import Run, RunState
from tests.factories import issue_key
from tests.playground import stories
from tests.playground.conftest import record_run

URL = "/runs/export/"


def lines(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.content
    return [json.loads(line) for line in b"".join(response).splitlines()]


def rows(response: Any) -> list[dict[str, str]]:
    text = b"".join(response).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def failed(team: Team, run: Run) -> Run:
    return record_run(
        team, stories.finished(), state=RunState.FAILED, cost_micros=12_500
    )


def test_file_holds_the_runs_that_the_filters_leave(alice: Client, failed: Run) -> None:
    told = lines(alice.post(f"{URL}?state=failed", {"format": "jsonl"}))
    assert [each["id"] for each in told] == [str(failed.id)]
    assert told[0]["cost_usd"] == "0.0125"


def test_file_holds_all_runs_newest_first(
    alice: Client, run: Run, failed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_export, "RUNS_AT_ONCE", 1)
    told = lines(alice.post(URL, {"format": "jsonl"}))
    assert [each["id"] for each in told] == [str(failed.id), str(run.id)]


def test_file_ends_at_its_limit(
    alice: Client, failed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_export, "MOST_EXPORTED", 1)
    assert len(lines(alice.post(URL, {"format": "jsonl"}))) == 1


def test_csv_has_the_same_values(alice: Client, failed: Run) -> None:
    told = rows(alice.post(URL, {"format": "csv"}))[0]
    same = lines(alice.post(URL, {"format": "jsonl"}))[0]
    assert told["id"] == same["id"]
    assert told["cost_usd"] == same["cost_usd"]
    assert told["has_unknown_cost"] == "false"


def test_no_cell_is_a_formula(alice: Client, team: Team) -> None:
    record_run(team, stories.finished(), title='=HYPERLINK("http://evil")')
    assert rows(alice.post(URL, {"format": "csv"}))[0]["title"].startswith("'=")


def test_search_narrows_the_file(alice: Client, team: Team, run: Run) -> None:
    assert len(lines(alice.post(f"{URL}?q=prototypes", {"format": "jsonl"}))) == 1
    assert lines(alice.post(f"{URL}?q=unheard", {"format": "jsonl"})) == []


def test_rest_gives_the_fields_of_the_list(team: Team, failed: Run) -> None:
    key = issue_key(team, scopes=("audit:export", "runs:read"))
    program = Client(headers={"authorization": f"Bearer {key.secret}"})
    response = program.get("/api/v1/runs/export/", {"state": "failed"})
    told = lines(response)[0]
    listed = program.get("/api/v1/runs/", {"state": "failed"}).json()["data"][0]
    shared = told.keys() & listed.keys()
    assert len(shared) > 15
    assert {name: told[name] for name in shared} == {n: listed[n] for n in shared}


def test_export_is_recorded(alice: Client, team: Team, run: Run) -> None:
    alice.post(f"{URL}?state=completed&q=zebra", {"format": "csv"})
    entry = Entry.objects.for_team(team.id).latest("seq")
    facts = json.loads(bytes(entry.canonical))["data"]
    assert entry.action == "team.runs_exported"
    assert facts == {"format": "csv", "filters": ["q", "state"]}


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_who_may_not_export_runs_gets_no_file(
    who: str, run: Run, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(who)
    assert client.post(URL, {"format": "csv"}).status_code == 403
    assert "JSON Lines" not in client.get("/runs/").content.decode()


def test_other_team_gets_nothing_of_it(mallory: Client, run: Run) -> None:
    assert lines(mallory.post(URL, {"format": "jsonl"})) == []


@pytest.mark.parametrize(
    ("query", "form"), [("", "xml"), ("", ""), ("?state=bogus", "csv"), ("?q=!", "csv")]
)
def test_bad_input_is_refused(alice: Client, run: Run, query: str, form: str) -> None:
    assert alice.post(f"{URL}{query}", {"format": form}).status_code == 400
