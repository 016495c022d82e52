"""The status of the site as every member sees it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.checkpoints.creation import checkpoints_create
from apps.core.ids import new_id
from apps.runs.models import Process, ProcessKind, Run
from tests.audit.examples import append, draft
from tests.console.conftest import text_of
from tests.factories import ConductorFactory
from tests.rest.things import make_run

URL = "/status/"


@pytest.fixture
def process(cast):
    until = timezone.now() + timedelta(seconds=60)
    return Process.objects.create(
        id=new_id(),
        kind=ProcessKind.WEB,
        name="host-7:4711",
        started_at=timezone.now(),
        expires_at=until,
    )


def test_a_member_sees_that_the_site_works_and_no_more(vera, process):
    page = text_of(vera.get(URL))
    assert "Everything works." in page
    assert "1 process executes runs." in page
    assert "Every entry older than 1 min has a signed checkpoint." in page
    assert "host-7" not in page and "Redis" not in page
    assert "Operations" not in page


def test_it_says_when_no_process_is_there_and_runs_wait(vera, cast):
    waits = make_run(cast)
    long_ago = timezone.now() - timedelta(minutes=5)
    Run.objects.for_team(cast.team.id).filter(id=waits).update(
        owner_id=None, finished_at=None, state="running", created_at=long_ago
    )
    page = text_of(vera.get(URL))
    assert "Something needs attention." in page
    assert "No process executes runs at the moment." in page
    assert "has waited 5 min" in page


def test_a_conductor_that_failed_its_test_is_told(vera, cast, process):
    failed = {
        "ok": False,
        "latency_ms": 5,
        "answer": "",
        "model": "x",
        "error_code": "connect",
        "message": "",
        "tested_at": "2026-11-22T12:00:00+00:00",
        "abilities": {},
    }
    ConductorFactory.create(team=cast.team, last_test=failed)
    page = text_of(vera.get(URL))
    assert "1 failed its last test." in page
    assert "Something needs attention." in page


def test_others_learn_nothing(client, db):
    assert client.get(URL).status_code == 302


def test_the_last_checkpoint_of_the_own_team_is_told(vera, cast, process):
    append(cast.team.id, draft())
    checkpoints_create()
    page = text_of(vera.get(URL))
    assert "Last checkpoint of your team: " in page


def test_conductors_never_tested_count_as_working(vera, cast, process):
    ConductorFactory.create(team=cast.team)
    page = text_of(vera.get(URL))
    assert "1 was never tested and counts as working." in page
    assert "Everything works." in page
