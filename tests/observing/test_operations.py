"""The operator's page about the whole site: what it shows and warns of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.core.ids import new_id
from apps.pools.models import PriceList
from apps.runs.coordination.fail_run import OWNER_LOST
from apps.runs.coordination.leases import MAX_DEATHS
from apps.runs.models import Process, ProcessKind, Run, Step
from tests.audit.examples import chain_of
from tests.audit.tampering import checkpoint
from tests.factories import TeamFactory, UserFactory
from tests.pools.lists import keep_list

pytestmark = pytest.mark.django_db

ADDRESS = "/admin/operations/"
PROMPT = "a canary of a prompt"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(UserFactory.create(is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def team() -> Team:
    return TeamFactory.create(name="Orchestra")


def add_process(kind: str = ProcessKind.WEB, ends_in_s: float = 10) -> Process:
    process = Process(
        id=new_id(),
        kind=kind,
        name=f"host:{kind}",
        started_at=Now(),
        expires_at=timezone.now() + timedelta(seconds=ends_in_s),
    )
    process.save(force_insert=True)
    return process


def add_run(team: Team, age_s: float = 0, **values: Any) -> Run:
    return Run.objects.create(
        id=new_id(),
        team=team,
        source="api",
        model="conductor-ultra",
        pool_name="default",
        pool_version=1,
        title=PROMPT,
        actor_type="service",
        actor_id="tests",
        actor_name="tests",
        created_at=timezone.now() - timedelta(seconds=age_s),
        **{"state": "running", **values},
    )


def add_steps(run: Run, worker: str, count: int, state: str = "completed") -> None:
    first = run.steps.count()
    for index in range(first, first + count):
        Step.objects.create(
            run=run,
            team=run.team,
            round=0,
            index=index,
            worker=worker,
            state=state,
            attempts=1,
            prompt_tokens=1,
            completion_tokens=1,
            cost_micros=1,
            latency_ms=1500,
        )


def context(operator: Client) -> Any:
    page = operator.get(ADDRESS)
    assert page.status_code == 200
    return page.context


def test_a_site_that_is_well_needs_nothing(operator: Client):
    add_process()
    page = operator.get(ADDRESS).content.decode()
    assert "Nothing needs attention." in page
    assert "host:web" in page


def test_live_and_waiting_runs_are_told_apart(operator: Client, team: Team):
    process = add_process()
    add_run(team, owner_id=process.id)
    add_run(team, owner_id=process.id)
    add_run(team, age_s=90)
    add_run(team, state="completed", finished_at=timezone.now())
    shown = context(operator)
    assert (shown["live_runs"], shown["standing"].waiting) == (2, 1)
    assert [p.runs for p in shown["standing"].processes] == [2]


def test_runs_that_wait_for_long_are_warned_of(operator: Client, team: Team):
    add_process()
    add_run(team, age_s=5)
    assert context(operator)["warnings"] == []
    add_run(team, age_s=90)
    (warning,) = context(operator)["warnings"]
    assert warning == "Runs that wait for a process: 2, the first for 1 min 30 s."


def test_leases_that_have_run_out_are_warned_of(operator: Client):
    add_process(ends_in_s=-5)
    shown = context(operator)
    assert shown["standing"].live_processes("web") == 0
    assert shown["warnings"] == ["Leases that ran out, of dead or halted processes: 1."]


def test_missing_workers_are_warned_of(operator: Client, settings: Any):
    add_process()
    settings.BACKGROUND_RUNS = "workers"
    assert "No worker process" in context(operator)["warnings"][0]
    add_process(ProcessKind.WORKER)
    assert context(operator)["warnings"] == []


def test_web_processes_that_do_not_hear_of_each_other_are_warned_of(
    operator: Client, settings: Any
):
    settings.REDIS_URL = ""
    add_process()
    add_process()
    assert "REDIS_URL" in context(operator)["warnings"][0]


def test_runs_that_died_are_shown_with_a_link_and_without_their_words(
    operator: Client, team: Team
):
    add_process()
    again = add_run(team, deaths=1)
    lost = add_run(
        team,
        state="failed",
        deaths=MAX_DEATHS,
        error_code=OWNER_LOST.code,
        finished_at=timezone.now(),
    )
    add_run(team, state="failed", error_code="x", finished_at=timezone.now())
    response = operator.get(ADDRESS)
    shown = response.context
    assert [(run.id, run.is_given_up) for run in shown["troubled"]] == [
        (again.id, False),
        (lost.id, True),
    ]
    page = response.content.decode()
    assert reverse("admin:runs_run_change", args=[lost.id]) in page
    assert "Runs given up, because their processes kept dying: 1." in page
    assert PROMPT not in page


def test_workers_come_the_worst_first(operator: Client, team: Team):
    run = add_run(team, state="completed", finished_at=timezone.now())
    add_steps(run, "well", 4)
    add_steps(run, "ill", 1)
    add_steps(run, "ill", 3, "failed")
    add_steps(run, "rare", 1, "failed")
    shown = context(operator)
    told = [(w.worker, w.calls, w.failures, ms) for w, ms in shown["workers"]]
    assert told == [("ill", 4, 3, "1.5 s"), ("well", 4, 0, "1.5 s")]
    assert "At least half of the steps failed at ill of Orchestra." in shown["warnings"]


def test_g12_checkpoints_that_are_behind_are_warned_of(operator: Client):
    chain_of(2)
    checkpoint()
    assert "signed and copied checkpoint" in operator.get(ADDRESS).content.decode()
    chain_of(1)
    recorded_at = timezone.now() - timedelta(seconds=90)
    Entry.objects.across_teams().update(recorded_at=recorded_at)
    shown = context(operator)
    assert shown["checkpoints_behind"].startswith("1 min 3")
    (warning,) = shown["warnings"]
    assert warning.startswith("Signed checkpoints are 1 min 3")


def test_price_list_that_has_never_come_is_warned_of(operator: Client, settings: Any):
    add_process()
    settings.PRICE_LIST_URL = "https://user-token.example/list?token=canary"
    (warning,) = context(operator)["warnings"]
    assert "has not come from user-token.example yet" in warning
    assert "prices_update" in warning
    assert "canary" not in warning


def test_price_list_that_grows_old_is_warned_of(operator: Client, settings: Any):
    add_process()
    keep_list(settings)
    assert context(operator)["warnings"] == []
    PriceList.objects.update(checked_at=timezone.now() - timedelta(days=3, hours=1))
    (warning,) = context(operator)["warnings"]
    assert "last came from 127.0.0.1 3 days ago" in warning
    settings.PRICE_LIST_URL = ""
    assert context(operator)["warnings"] == []


def test_workers_with_few_steps_are_left_out_and_the_page_says_so(
    operator: Client, team: Team
):
    add_steps(add_run(team), "seldom", 2)
    page = operator.get(ADDRESS).content.decode()
    assert "seldom" not in page
    assert "Workers with fewer than 3 steps are left out." in page


def test_the_number_of_queries_does_not_grow(operator: Client):
    def ask() -> int:
        with CaptureQueriesContext(connection) as queries:
            operator.get(ADDRESS)
        return len(queries)

    add_process()
    few = ask()
    for _ in range(3):
        run = add_run(TeamFactory.create(), deaths=1)
        add_steps(run, "w", 3)
        add_process()
    assert ask() == few


def test_runs_are_counted_by_the_hour(operator: Client, team: Team):
    add_run(team)
    add_run(team, state="failed", finished_at=timezone.now())
    bars = context(operator)["bars"]
    assert len(bars) == 24
    assert [(bar["runs"], bar["failed"]) for bar in bars if bar["runs"]] == [(2, 1)]
    assert bars[-1]["runs"] == 2


def test_the_page_loads_itself_again_if_asked(operator: Client):
    assert 'http-equiv="refresh"' not in operator.get(ADDRESS).content.decode()
    live = operator.get(ADDRESS, {"live": "1"}).content.decode()
    assert '<meta http-equiv="refresh" content="10">' in live


def test_only_superusers_are_led_there(client: Client, operator: Client):
    index = operator.get(reverse("admin:index")).content.decode()
    assert ADDRESS in index
    client.force_login(UserFactory.create(is_staff=True))
    assert ADDRESS not in client.get(reverse("admin:index")).content.decode()
    assert client.get(ADDRESS).status_code == 403
