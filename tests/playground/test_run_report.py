"""The report of a run: two pages to read and print."""

from __future__ import annotations

from html import escape
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from apps.accounts.models import Team
from apps.audit.checkpoints.creation import checkpoints_create
from apps.audit.models import Checkpoint
from apps.runs.models import Run
from apps.runs.selectors import run_record
from tests.playground import stories
from tests.playground.conftest import record_run
from tests.runs.recording import record, told


def report(client: Client, run: Run) -> Any:
    return client.get(f"/runs/{run.id}/report/")


def test_report_has_what_a_case_file_needs(vera: Client, team: Team) -> None:
    run = record(team, told(stories.finished))
    page = report(vera, run).content.decode()
    for heading in (
        "Question",
        "Answer",
        "Plan",
        "Who and what it cost",
        "Policy and approvals",
        "Review",
        "Record and signature",
    ):
        assert f">{heading}</h2>" in page
    assert escape(run_record(team.id, run.id).prompt) in page
    assert "11 entries verified, chain intact" in page
    assert f'href="/runs/{run.id}/export.jsonl"' in page


def test_title_is_the_name_of_the_run(vera: Client, run: Run) -> None:
    title = report(vera, run).content.decode().partition("</title>")[0]
    assert run.title[:30] in title
    assert str(run.id) not in title


def test_report_says_what_signs_the_run(vera: Client, team: Team, run: Run) -> None:
    assert "Not yet; the end of the ledger" in report(vera, run).content.decode()
    checkpoints_create(team_id=team.id)
    checkpoint = Checkpoint.objects.for_team(team.id).get()
    page = report(vera, run).content.decode()
    assert checkpoint.root in page
    assert f"with all entries up to #{checkpoint.seq}" in page


def test_report_of_a_changed_entry_says_so(vera: Client, run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET hash = %s WHERE seq = 3", ["sha256:00"])
    page = report(vera, run).content.decode()
    assert "Entry #3 is not what was recorded" in page


def test_long_question_is_cut_and_says_so(vera: Client, team: Team) -> None:
    prompt = "why " * 2_000
    run = record_run(team, stories.Recording().at(0, stories.created(prompt)).entries)
    page = report(vera, run).content.decode()
    assert prompt.strip() not in page
    assert "Only the beginning is shown" in page


@pytest.mark.parametrize(
    "story",
    [
        stories.planning,
        stories.rescued,
        stories.failed,
        stories.planned_again,
        stories.cancelled,
        stories.rejected,
        stories.called_tools,
    ],
)
def test_report_of_every_state_is_shown(vera: Client, team: Team, story: Any) -> None:
    assert report(vera, record_run(team, story())).status_code == 200


def test_outsider_gets_404(mallory: Client, run: Run) -> None:
    assert report(mallory, run).status_code == 404


def test_every_reader_finds_it_in_the_menu(vera: Client, run: Run) -> None:
    page = vera.get(f"/runs/{run.id}/").content.decode()
    assert f'href="/runs/{run.id}/report/"' in page
    assert "Export with proof" not in page
