"""One process of a site does what is to be done for all of it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError

from apps.audit.selectors import entry_list
from apps.audit.services import CONTENT_ERASED
from apps.core.background import pacing
from apps.governance.models import Retention
from apps.llm.testing import json_script
from apps.pools.models import PriceList
from apps.runs.coordination.leases import process_open, process_reopen
from apps.runs.models import ProcessKind
from conductor_site import maintenance
from conductor_site.maintenance import MaintenanceThread
from tests.audit.examples import chain_of, execute
from tests.patience import PATIENCE_S
from tests.pools.lists import list_of, list_server

pytestmark = pytest.mark.django_db(transaction=True)


class Chore:
    """Counts how often it was done, step by step."""

    def __init__(self) -> None:
        self.steps = 0
        self.is_known = threading.Event()

    def __call__(self) -> Iterator[None]:
        for _ in range(3):
            self.steps += 1
            self.is_known.set()
            yield


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Chore:
    made = Chore()
    monkeypatch.setattr(maintenance, "JOBS", (("it is not done", made),))
    return made


def process(lease_id: uuid.UUID) -> Any:
    """Return what the maintenance thread knows of a process: its lease."""
    return SimpleNamespace(lease_keeper=SimpleNamespace(lease_id=lease_id))


@pytest.fixture
def leases() -> list[uuid.UUID]:
    """Three processes, the eldest first."""
    first = process_open(ProcessKind.WEB)
    return [first, *(process_reopen(ProcessKind.WORKER) for _ in range(2))]


def test_eldest_process_alone_does_it(job: Chore, leases: list[uuid.UUID]) -> None:
    done = []
    for lease_id in leases:
        one = MaintenanceThread(process(lease_id))
        one.look()
        one.close()
        done.append(job.steps)
    assert done == [3, 3, 3]


def test_it_is_done_without_being_asked(
    job: Chore, leases: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "BEGIN_S", 0.01)
    one = MaintenanceThread(process(leases[0]))
    assert job.is_known.wait(PATIENCE_S)
    one.close()


def test_process_that_ends_waits_for_one_step_only(
    leases: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []

    def endless() -> Iterator[None]:
        while True:
            steps.append(1)
            if len(steps) == 2:
                one._stop.set()
            yield

    monkeypatch.setattr(maintenance, "JOBS", (("it is not done", endless),))
    one = MaintenanceThread(process(leases[0]))
    one.look()
    one.close()
    assert len(steps) == 2


def test_others_get_their_turn_between_two_steps(
    job: Chore, leases: list[uuid.UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "MIN_PAUSE_S", PATIENCE_S)
    assert steps_until_closed(job, leases[0]) == 1


def test_request_that_is_open_goes_before_the_next_step(
    job: Chore, leases: list[uuid.UUID]
) -> None:
    """As long as the background has used more than its share."""
    pacing.background_time.spend(PATIENCE_S)
    with pacing.open_requests.one():
        assert steps_until_closed(job, leases[0]) == 1


def steps_until_closed(job: Chore, lease_id: uuid.UUID) -> int:
    """Begin to look, close once the first step is done, and return how many were."""
    one = MaintenanceThread(process(lease_id))
    looking = threading.Thread(target=one.look)
    looking.start()
    assert job.is_known.wait(PATIENCE_S)
    one.close()  # ends the pause as well
    looking.join(PATIENCE_S)
    return job.steps


@pytest.mark.parametrize("fault", [RuntimeError("no"), IntegrityError("seq is taken")])
def test_chore_that_fails_is_told_and_the_next_is_done(
    fault: Exception,
    job: Chore,
    leases: list[uuid.UUID],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> Iterator[None]:
        raise fault
        yield

    jobs = (("texts stay", broken), ("it is not done", job))
    monkeypatch.setattr(maintenance, "JOBS", jobs)
    one = MaintenanceThread(process(leases[0]))
    one.look()
    one.close()
    assert job.steps == 3
    assert "maintenance: texts stay this time" in caplog.text


def test_database_that_is_away_is_told_in_a_line(
    leases: list[uuid.UUID],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def away() -> Iterator[None]:
        raise OperationalError("server closed the connection")
        yield

    monkeypatch.setattr(maintenance, "JOBS", (("texts stay", away),))
    one = MaintenanceThread(process(leases[0]))
    one.look()
    one.close()
    assert [r.message for r in caplog.records if "maintenance" in r.message] == [
        "maintenance: the database refused or is away: server closed the connection"
    ]


def test_site_erases_what_is_over_and_has_the_newest_prices(
    leases: list[uuid.UUID], settings: Any
) -> None:
    team_id = chain_of(3)
    Retention.objects.create(team_id=team_id, days=183)
    execute("UPDATE audit_entry SET recorded_at = '2020-01-01 00:00:00+00:00'")
    with list_server(json_script(list_of())) as server:
        settings.PRICE_LIST_URL = server.base_url
        one = MaintenanceThread(process(leases[0]))
        one.look()
        one.close()
    assert PriceList.objects.exists()
    newest = entry_list(team_id)[-1]
    assert (newest.action, len(newest.data["bodies"])) == (CONTENT_ERASED, 3)
