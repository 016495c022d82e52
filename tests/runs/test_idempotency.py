"""One run for each idempotency key and team, for a day."""

from __future__ import annotations

import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction

from apps.accounts.models import Team
from apps.audit.sql_dialects import dialect_of
from apps.budgets.services import budget_create
from apps.core.ids import new_id
from apps.runs.errors import IdempotencyConflict, IdempotencyKeyLost
from apps.runs.execution.async_db import idempotency_sweep
from apps.runs.execution.idempotency_keys import GRACE
from apps.runs.models import IdempotencyKey, Run, RunState
from apps.runs.querysets import KEY_LIFETIME
from apps.runs.records.projection import HOLD_KEY
from apps.runs.services import (
    idempotency_claim,
    idempotency_release,
    run_start_detached,
)
from tests.conftest import Cast, Site
from tests.factories import ACTOR, TeamFactory
from tests.runs.clients import ask_all, request
from tests.runs.starting import on_loop, order

pytestmark = pytest.mark.django_db
BODY = b"b" * 32
OTHER = b"o" * 32


@pytest.fixture
def team() -> Team:
    return TeamFactory.create()


def claim(team: Team, digest: bytes = BODY, key: str = "k") -> tuple[bool, uuid.UUID]:
    """Return whether the key was new, and the run it stands for."""
    mine = new_id()
    found = idempotency_claim(team_id=team.id, key=key, body_digest=digest, run_id=mine)
    return found == mine, found


def grow_older(team: Team, age: timedelta) -> None:
    rows = IdempotencyKey.objects.for_team(team.id)
    rows.update(claimed_at=datetime.now(UTC) - age)


def put_on_record(team: Team, run_id: uuid.UUID, state: RunState) -> None:
    Run.objects.create(
        id=run_id,
        team=team,
        state=state,
        source="api",
        pool_version=1,
        created_at=datetime.now(UTC),
    )


def test_same_body_leads_to_the_same_run(team: Team):
    is_new, first = claim(team)
    assert is_new
    assert claim(team) == (False, first)


def test_claiming_again_for_the_same_run_changes_nothing(team: Team):
    _, run_id = claim(team)
    again = idempotency_claim(team_id=team.id, key="k", body_digest=BODY, run_id=run_id)
    assert again == run_id


def test_other_body_is_refused(team: Team):
    claim(team)
    with pytest.raises(IdempotencyConflict) as refused:
        claim(team, OTHER)
    assert (refused.value.code, refused.value.http_status) == (
        "idempotency_conflict",
        422,
    )


def test_keys_of_teams_and_other_keys_stand_apart(team: Team):
    claim(team)
    assert claim(TeamFactory.create(), OTHER)[0]
    assert claim(team, OTHER, key="another")[0]


def test_released_key_is_free_for_any_body(team: Team):
    _, run_id = claim(team)
    idempotency_release(team_id=team.id, key="k", run_id=new_id())
    assert claim(team) == (False, run_id)
    idempotency_release(team_id=TeamFactory.create().id, key="k", run_id=run_id)
    assert claim(team) == (False, run_id)
    idempotency_release(team_id=team.id, key="k", run_id=run_id)
    assert claim(team, OTHER)[0]


@pytest.mark.parametrize(
    ("state", "is_free"),
    [
        (RunState.RUNNING, False),
        (RunState.COMPLETED, False),
        (RunState.CANCELLED, True),
    ],
)
def test_g8_a_run_on_record_keeps_its_key_unless_it_was_cancelled(
    team: Team, state: RunState, is_free: bool
):
    _, run_id = claim(team)
    put_on_record(team, run_id, state)
    idempotency_release(team_id=team.id, key="k", run_id=run_id)
    assert claim(team)[0] is is_free


def test_key_is_free_after_a_day(team: Team):
    claim(team)
    grow_older(team, KEY_LIFETIME + timedelta(seconds=1))
    assert claim(team, OTHER)[0]


def test_key_of_a_run_that_never_got_on_record_is_free_after_a_while(team: Team):
    _, lost = claim(team)
    grow_older(team, GRACE - timedelta(seconds=5))
    assert claim(team) == (False, lost)
    grow_older(team, GRACE + timedelta(seconds=5))
    assert claim(team, OTHER)[0]


@pytest.mark.django_db(transaction=True)
def test_sweep_forgets_what_is_over(team: Team):
    claim(team, key="old")
    grow_older(team, KEY_LIFETIME + timedelta(seconds=1))
    claim(team, key="new")
    async_to_sync(idempotency_sweep)()
    left = IdempotencyKey.objects.for_team(team.id).values_list("key", flat=True)
    assert list(left) == ["new"]


def test_of_many_at_once_one_wins(cast: Cast):
    def one(_: int) -> tuple[bool, uuid.UUID]:
        try:
            return claim(cast.team)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(one, range(24)))
    assert sum(is_new for is_new, _ in found) == 1
    assert len({run_id for _, run_id in found}) == 1


def test_key_of_a_run_on_record_is_kept_all_day(site: Site):
    ask_all(site, [("", "", request("worker/sim-delta", "Hi", is_streamed=False))])
    team = site.cast.team
    run = Run.objects.for_team(team.id).get()
    idempotency_claim(team_id=team.id, key="k", body_digest=BODY, run_id=run.id)
    grow_older(team, KEY_LIFETIME - timedelta(minutes=1))
    assert claim(team) == (False, run.id)


# --- G8: no run without its key -------------------------------------------------------


@pytest.mark.parametrize("place", ["here", "workers"])
def test_g8_run_whose_key_was_taken_over_never_gets_on_record(
    site: Site, settings, place: str
):
    """As for a process that stood still between its claim and its first commit."""
    settings.BACKGROUND_RUNS = place
    team = site.cast.team
    _, lost = claim(team)
    grow_older(team, GRACE + timedelta(seconds=5))
    _, taken = claim(team)
    wanted = order(site.cast, "Hi", model="worker/sim-delta", idempotency_key="k")
    with pytest.raises(IdempotencyKeyLost, match="ask again"):
        on_loop(run_start_detached(wanted, lost))
    assert not Run.objects.for_team(team.id).exists()
    on_loop(run_start_detached(wanted, taken))
    assert Run.objects.for_team(team.id).get().id == taken


def test_g8_with_a_budget_too_it_is_the_key_that_was_lost(site: Site):
    values = {"kind": "team", "period": "month", "limit_usd": "10.00"}
    budget_create(team=site.cast.team, values=values, actor=ACTOR)
    wanted = order(site.cast, "Hi", model="worker/sim-delta", idempotency_key="k")
    with pytest.raises(IdempotencyKeyLost):
        on_loop(run_start_detached(wanted))


@pytest.mark.parametrize("is_stale", [False, True], ids=["released", "taken over"])
def test_g8_letting_go_of_a_key_waits_for_the_commit_of_its_run(
    cast: Cast, is_stale: bool
):
    """As when the writer dies in its commit, which goes through all the same."""
    team = cast.team
    _, run_id = claim(team)
    if is_stale:
        grow_older(team, GRACE + timedelta(seconds=5))

    def let_go() -> None:
        try:
            if is_stale:
                claim(team)
            else:
                idempotency_release(team_id=team.id, key="k", run_id=run_id)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(HOLD_KEY, _adapted(team.id, "k", run_id))
            put_on_record(team, run_id, RunState.RUNNING)
            going: Future[None] = thread.submit(let_go)
            with pytest.raises(TimeoutError):
                going.result(0.3)
        going.result(10)
    assert claim(team) == (False, run_id)


def _adapted(*values: object) -> list[Any]:
    dialect = dialect_of(connection)
    return [dialect.adapt(value) for value in values]
