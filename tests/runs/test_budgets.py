"""Runs under budgets: what they may spend, who is refused, and where each cent goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.utils import timezone

from apps.audit.types import RowWrite
from apps.budgets.models import Budget, Reservation, Spend
from apps.budgets.reservations import Hold, Share
from apps.budgets.selectors import budget_list, standings_read
from apps.budgets.services import budget_create, budget_update, reservations_sweep
from apps.engine import events as ev
from apps.pools.models import Price
from apps.runs.coordination.fail_run import BROKEN, run_give_up
from apps.runs.execution.recorder import LedgerRecorder
from apps.runs.models import Run, RunState
from apps.runs.selectors import run_events
from apps.runs.services import run_cancel
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.runs.asking import planned, until
from tests.runs.clients import Said, ask_all, request

DIRECT = "worker/sim-delta"
QUESTION = "What is 17 * 23 + 4?"


def put(cast: Cast, limit_usd: str, period: str = "month", **target: Any) -> Budget:
    values = {"kind": "team", "period": period, "limit_usd": limit_usd, **target}
    return budget_create(team=cast.team, values=values, actor=ACTOR)


def ask(site: Site, count: int = 1, model: str = DIRECT, **narrow: Any) -> list[Said]:
    body = request(model, QUESTION, is_streamed=False)
    if narrow:
        body["conductor"] = narrow
    return ask_all(site, [(str(n), "", body) for n in range(count)])


def codes(said: list[Said]) -> Counter[tuple[int, str]]:
    return Counter((s.status, s.error["code"] if s.error else "") for s in said)


def error_of(said: Said) -> dict[str, Any]:
    assert said.error is not None
    return said.error


def spent(cast: Cast) -> tuple[int, int]:
    """Return what is spent and set aside of the team's only budget."""
    (status,) = budget_list(cast.team.id)
    return status.spent_micros, status.reserved_micros


def cost_by_row(cast: Cast) -> int:
    return sum(run.cost_micros for run in Run.objects.for_team(cast.team.id))


def cost_by_entries(cast: Cast) -> int:
    """Add up every attempt that the ledger holds."""
    return sum(
        getattr(recorded.event, "cost_micros", None) or 0
        for run in Run.objects.for_team(cast.team.id)
        for recorded in run_events(run)
        if not isinstance(
            recorded.event, ev.RunCompleted | ev.RunFailed | ev.RunCancelled
        )
    )


# --- G18 ------------------------------------------------------------------------------


def test_fifty_parallel_runs_on_a_budget_for_ten_spend_at_most_the_budget(site):
    put(site.cast, "0.10")
    said = ask(site, 50, max_cost_usd="0.01")
    found = codes(said)
    assert set(found) <= {(200, ""), (429, "insufficient_quota")}
    assert found[200, ""] >= 10
    total, reserved = spent(site.cast)
    assert 0 < total <= 100_000
    assert (reserved, Reservation.objects.across_teams().count()) == (0, 0)
    assert total == cost_by_row(site.cast) == cost_by_entries(site.cast)
    call_command("audit_verify")


def test_parallel_plans_under_a_tight_budget_never_overspend(site):
    put(site.cast, "0.02")
    found = codes(ask(site, 20, "conductor-ultra"))
    assert set(found) <= {
        (200, ""),
        (429, "insufficient_quota"),
        (402, "insufficient_quota"),
    }
    total, reserved = spent(site.cast)
    assert 0 < total <= 20_000 and reserved == 0
    assert total == cost_by_row(site.cast) == cost_by_entries(site.cast)


def test_the_last_cent_goes_to_one_run_alone(site, monkeypatch):
    put(site.cast, "0.01")
    # Everybody believes in the same full budget, read before anyone began.
    standings_read(site.cast.team.id)
    found = codes(ask(site, 12, max_cost_usd="0.01"))
    assert found[200, ""] >= 1
    assert sum(found.values()) == 12
    assert spent(site.cast)[0] <= 10_000


def test_a_run_that_is_refused_never_exists(site):
    put(site.cast, "0.000001")
    (said,) = ask(site)
    assert (said.status, said.run_id) == (429, "")
    assert not Run.objects.for_team(site.cast.team.id).exists()
    assert not Spend.objects.for_team(site.cast.team.id).exists()


# --- who is refused, and what they are told -------------------------------------------


def test_the_refusal_names_the_limit_what_is_left_and_when_it_resets(site):
    put(site.cast, "5")
    put(site.cast, "0.000001", "day", kind="key", api_key_id=str(site.cast.key.row.id))
    (said,) = ask(site)
    message = error_of(said)["message"]
    tomorrow = (timezone.now().astimezone(UTC) + timedelta(days=1)).date()
    assert "the daily budget of API key 'Build server'" in message
    assert "$0.000001 of $0.000001 left" in message
    assert f"resets at {tomorrow} 00:00 UTC" in message
    assert error_of(said)["type"] == "insufficient_quota"


def test_a_limit_for_each_run_refuses_what_cannot_fit(site):
    put(site.cast, "0.000001", "run")
    (said,) = ask(site)
    assert (
        "the limit for each run of the team is $0.000001" in error_of(said)["message"]
    )


def test_a_limit_for_each_run_caps_the_run(site):
    put(site.cast, "0.003", "run")
    assert codes(ask(site)) == {(200, ""): 1}
    run = Run.objects.for_team(site.cast.team.id).get()
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    assert created.limits["max_cost_micros"] == 3_000
    assert run.cost_micros <= 3_000


def test_a_run_that_ends_at_its_limit_says_whose_limit_it_was(stage):
    site = stage.site
    conductors = Price.objects.for_team(site.cast.team.id).exclude(conductor=None)
    conductors.update(input_micros=3_000_000)
    put(site.cast, "0.0078", "run")
    # Nobody expects that the conductor has to be asked again and again.
    body = request("conductor-ultra", "<<plan\nno plan>>", is_streamed=False)
    (said,) = ask_all(site, [("", "", body)])
    assert said.status == 402, said.text
    assert "(the limit for each run of the team)" in error_of(said)["message"]


def test_a_budget_of_another_key_or_member_does_not_bind(site):
    put(site.cast, "0.000001", kind="member", user_id=str(site.cast.bob.id))
    assert codes(ask(site)) == {(200, ""): 1}


def test_keys_count_for_the_member_who_made_them(site):
    put(site.cast, "0.000001", kind="member", user_id=str(site.cast.alice.id))
    assert codes(ask(site)) == {(429, "insufficient_quota"): 1}


def test_the_playground_is_refused_like_the_api(stage):
    put(stage.site.cast, "0.000001")
    answer = stage.browser.post(
        "/playground/runs/",
        {"prompt": planned([0]), "tier": "ultra"},
        headers={"accept": "application/json"},
    )
    assert answer.status_code == 429
    assert "monthly budget of the team" in answer.json()["error"]["message"]


def test_a_model_without_a_price_is_refused_by_name_under_a_budget(site):
    prices = Price.objects.for_team(site.cast.team.id)
    prices.filter(worker__name="sim-birch").delete()
    assert codes(ask(site, 1, "conductor-ultra")) == {(200, ""): 1}
    put(site.cast, "5")
    (said,) = ask(site, 1, "conductor-ultra")
    assert (said.status, error_of(said)["code"]) == (400, "price_missing")
    assert error_of(said)["message"] == (
        "a budget binds this run, and the price of worker 'sim-birch' is unknown: fill "
        "in Price on the page of each model; the page Budgets lists them"
    )
    assert codes(ask(site)) == {(200, ""): 1}


def test_every_budget_that_binds_counts_the_run(site):
    put(site.cast, "5")
    put(site.cast, "4", "day")
    put(site.cast, "3", "day", kind="key", api_key_id=str(site.cast.key.row.id))
    ask(site)
    cost = cost_by_row(site.cast)
    assert cost > 0
    assert {s.spent_micros for s in budget_list(site.cast.team.id)} == {cost}


def test_a_higher_limit_is_felt_at_once(site):
    budget = put(site.cast, "0.000001")
    assert codes(ask(site)) == {(429, "insufficient_quota"): 1}
    budget_update(budget=budget, values={"limit_usd": "1"}, actor=ACTOR)
    assert codes(ask(site)) == {(200, ""): 1}


# --- ends, crashes and resumptions ----------------------------------------------------


@pytest.fixture
def waiting(stage, recruit, watch) -> Callable[[], Run]:
    """Start a run that waits for its worker."""

    def inner() -> Run:
        numbers = recruit("delay-3600000")
        run: Run = stage.start(planned(numbers))
        until(watch(run), "step.started")
        return run

    return inner


def test_a_run_in_progress_has_set_aside_what_it_may_cost(site, waiting):
    put(site.cast, "1")
    run = waiting()
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    assert spent(site.cast) == (0, created.limits["max_cost_micros"])


def test_a_cancelled_run_counts_what_it_used_and_frees_the_rest(site, waiting):
    put(site.cast, "1")
    run = waiting()
    run_cancel(run_id=run.id, team_id=run.team_id, actor=ACTOR, reason="enough")
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED and run.cost_micros > 0
    assert spent(site.cast) == (run.cost_micros, 0)


def test_a_crash_with_open_reservations_is_freed_by_the_sweep(site, waiting):
    put(site.cast, "1")
    run = waiting()
    now = timezone.now()
    assert reservations_sweep(now=now + timedelta(minutes=3, seconds=50)) == 0
    assert reservations_sweep(now=now + timedelta(minutes=5)) == 1
    assert spent(site.cast) == (0, 0)
    assert reservations_sweep(now=now + timedelta(minutes=6)) == 0
    (row,) = Reservation.objects.for_team(run.team_id)
    assert row.micros == 0


def test_a_run_that_ends_after_the_sweep_is_still_counted_once(site, waiting):
    put(site.cast, "1")
    run = waiting()
    reservations_sweep(now=timezone.now() + timedelta(minutes=5))
    run_cancel(run_id=run.id, team_id=run.team_id, actor=ACTOR, reason="enough")
    run.refresh_from_db()
    assert spent(site.cast) == (run.cost_micros, 0)


def test_giving_a_run_up_settles_it_too(site, waiting):
    put(site.cast, "1")
    run = waiting()
    run.refresh_from_db()
    async_to_sync(run_give_up)(run, BROKEN)
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert spent(site.cast) == (run.cost_micros, 0)


# --- hot path -------------------------------------------------------------------------


def test_a_team_without_budgets_is_remembered_as_such(site, monkeypatch):
    ask(site)
    asked: list[object] = []

    def read(team_id: object) -> tuple[()]:
        asked.append(team_id)
        return ()

    monkeypatch.setattr("apps.runs.execution.async_db.standings_read", read)
    ask(site, 5)
    assert asked == []


def test_a_run_outside_of_budgets_writes_nothing_about_money(site, monkeypatch):
    seen: list[RowWrite] = []
    money = LedgerRecorder._money

    def spy(self, hold, events):
        writes = money(self, hold, events)
        seen.extend(writes)
        return writes

    monkeypatch.setattr(LedgerRecorder, "_money", spy)
    ask(site)
    assert seen == []


def test_statements_of_a_hold_come_before_the_runs_own_rows(cast):
    share = Share(cast.team.id, datetime(2030, 1, 1, tzinfo=UTC).date())
    writes = Hold(5, (share,)).opening(cast.team.id, cast.team.id, timezone.now())
    assert [write.phase < 0 for write in writes] == [True] * 3
    assert [write.must_change_row for write in writes] == [False, True, False]
