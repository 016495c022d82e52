"""When alerts open, what keeps them open, and when they close."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.alerts.evaluation import alerts_evaluate, alerts_forget
from apps.alerts.models import Alert
from apps.alerts.selectors import alert_detail, alert_place, alert_title
from apps.alerts.types import AlertKind
from apps.audit.models import FullCheck, JobState
from apps.budgets.services import budget_update
from apps.runs.models import PlanApproval
from tests.alerts.looking import (
    FAILED_CALL,
    change,
    fail,
    later,
    look,
    open_alerts,
    runs,
)
from tests.budgets.test_crossings import budget_of, spend
from tests.budgets.test_services import recorded
from tests.conftest import Cast, Site
from tests.factories import ACTOR, WorkerFactory
from tests.rest.things import make_run
from tests.runs.test_budgets import ask, spent
from tests.runs.test_budgets import put as put_budget


def only(cast: Cast) -> Alert:
    (alert,) = open_alerts(cast)
    return alert


# --- budgets -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("micros", "severity", "words"),
    [(80, "warning", "nearly spent"), (130, "critical", "spent")],
)
def test_a_budget_that_is_nearly_spent_opens_an_alert(cast, micros, severity, words):
    spend(budget_of(cast.team, "month"), micros, timezone.now())
    look(cast)
    alert = only(cast)
    assert (alert.kind, alert.severity) == ("budget", severity)
    assert alert_title(alert) == f"Monthly budget of the team is {words}"
    assert alert_detail(alert) == f"{micros} % of its limit is spent"


@pytest.mark.parametrize(("micros", "is_open"), [(76, True), (74, False)])
def test_a_budget_closes_when_it_is_well_below_the_threshold(cast, micros, is_open):
    budget = budget_of(cast.team, "month")
    spend(budget, 81, timezone.now())
    look(cast)
    spend(budget, micros, timezone.now())
    look(cast)
    assert bool(open_alerts(cast)) is is_open


def test_a_budget_just_below_the_threshold_opens_nothing(cast):
    spend(budget_of(cast.team, "month"), 79, timezone.now())
    assert look(cast) == 0


def test_a_run_that_spends_a_budget_opens_an_alert_and_a_higher_limit_closes_it(
    site: Site,
):
    budget = put_budget(site.cast, "10.00")
    ask(site)
    micros, _ = spent(site.cast)
    for usd, count in ((micros / 900_000, 1), (10, 0)):
        values = {"limit_usd": f"{usd:.6f}"}
        budget_update(budget=budget, values=values, actor=ACTOR)
        look(site.cast)
        kinds = [each.kind for each in open_alerts(site.cast)]
        assert kinds.count("budget") == count


# --- workers -------------------------------------------------------------------------


def test_a_worker_whose_calls_fail_opens_an_alert_though_runs_are_rescued(cast):
    worker = WorkerFactory.create(team=cast.team, name="beta")
    runs(cast, 3, findings=[FAILED_CALL, FAILED_CALL])
    look(cast)
    alert = only(cast)
    assert (alert.kind, alert.subject) == ("worker", str(worker.id))
    assert alert_detail(alert) == "6 of 9 calls failed in 15 minutes"
    assert alert_place(alert) == (f"/workers/{worker.id}/", "Worker")


def test_what_a_request_is_to_blame_for_is_no_failure_of_the_worker(cast):
    WorkerFactory.create(team=cast.team, name="beta")
    runs(cast, 5, findings=[{**FAILED_CALL, "fault": "content_filtered"}] * 3)
    assert look(cast) == 0


def test_a_worker_of_few_calls_opens_nothing(cast):
    WorkerFactory.create(team=cast.team, name="beta")
    runs(cast, 1, findings=[FAILED_CALL] * 3)
    assert look(cast) == 0


def test_a_simulated_worker_that_fails_opens_an_alert_and_it_closes_in_time(
    site: Site,
):
    site.add_worker("fault-500")
    change(site.cast, AlertKind.WORKER, least=2)
    ask(site, 3, model="worker/fault-500")
    look(site.cast)
    (alert,) = [each for each in open_alerts(site.cast) if each.kind == "worker"]
    assert alert.name == "fault-500"
    look(site.cast, later(minutes=20))
    assert [each.kind for each in open_alerts(site.cast)] == []


# --- shares of runs ------------------------------------------------------------------


def test_runs_that_fail_open_one_alert_until_few_fail(cast):
    fail(cast, 2)
    runs(cast, 8)
    assert look(cast) == 1
    alert = only(cast)
    assert alert_detail(alert) == "2 of 10 runs failed in 15 minutes"
    assert look(cast) == 0
    runs(cast, 2)  # 17 percent: below the threshold, and not well below
    look(cast)
    alert.refresh_from_db()
    assert (alert.is_open, alert.figures["total"]) == (True, 12)
    runs(cast, 8)
    assert look(cast) == 1
    assert open_alerts(cast) == []


def test_too_few_runs_open_nothing(cast):
    fail(cast, 9)
    assert look(cast) == 0


def test_an_open_alert_stays_while_fewer_runs_than_the_least_fail(cast):
    fail(cast, 10)
    look(cast)
    look(cast, later(minutes=13))
    assert open_alerts(cast)
    look(cast, later(minutes=15))
    assert open_alerts(cast) == []


def test_runs_of_evaluations_and_cancelled_ones_do_not_count(cast):
    runs(cast, 10, state="failed", source="evaluation")
    runs(cast, 10, state="cancelled")
    assert look(cast) == 0


def test_runs_without_a_plan_open_an_alert_that_leads_to_their_list(cast):
    runs(cast, 2, planner="fallback")
    runs(cast, 3)
    look(cast)
    alert = only(cast)
    assert alert_detail(alert) == "2 of 5 runs had no plan in 60 minutes"
    assert alert_place(alert)[0].startswith("/runs/?flag=unplanned&period=")


# --- approvals and the ledger --------------------------------------------------------


def held(cast: Cast, minutes: int) -> PlanApproval:
    now = timezone.now()
    return PlanApproval.objects.create(
        run_id=make_run(cast, state="running"),
        team=cast.team,
        round=0,
        state="waiting",
        plan_digest="d" * 64,
        approvals_needed=1,
        requested_at=now - timedelta(minutes=minutes),
        expires_at=now + timedelta(hours=9),
    )


def test_each_plan_that_waits_too_long_opens_an_alert_until_it_is_decided(cast):
    old, _ = held(cast, 45), held(cast, 5)
    look(cast)
    alert = only(cast)
    assert alert_place(alert) == (f"/runs/{old.run_id}/approval/", "Plan")
    PlanApproval.objects.for_team(cast.team.id).update(settled_at=timezone.now())
    look(cast)
    assert open_alerts(cast) == []


def checked(cast: Cast, faults: int) -> None:
    FullCheck.objects.for_team(cast.team.id).update_or_create(
        team_id=cast.team.id,
        defaults={
            "state": JobState.DONE,
            "beat_at": timezone.now(),
            "finished_at": timezone.now(),
            "report": {"fault_count": faults},
        },
    )


def test_a_ledger_that_does_not_verify_opens_a_critical_alert(cast):
    checked(cast, 3)
    list(alerts_evaluate())
    alert = only(cast)
    assert (alert.kind, alert.severity) == ("ledger", "critical")
    assert alert_detail(alert) == "3 faults found"
    checked(cast, 0)
    look(cast)
    assert open_alerts(cast) == []


def test_entries_without_a_checkpoint_for_long_open_an_alert(cast):
    change(cast, AlertKind.CHECKPOINT, is_enabled=True)  # an entry
    assert look(cast, later(minutes=14)) == 0
    look(cast, later(minutes=16))
    alert = only(cast)
    assert alert.kind == "checkpoint"


# --- rules ---------------------------------------------------------------------------


def test_a_rule_that_is_switched_off_opens_nothing_and_closes_what_is_open(cast):
    fail(cast)
    look(cast)
    change(cast, AlertKind.RUNS, is_enabled=False)
    look(cast)
    assert open_alerts(cast) == []
    assert look(cast) == 0


def test_opening_and_closing_are_on_record(cast):
    fail(cast)
    look(cast)
    look(cast, later(hours=1))
    (opened,), (closed,) = (
        recorded(cast, "alert.opened"),
        recorded(cast, "alert.closed"),
    )
    assert opened["kind"] == closed["kind"] == "runs"
    assert opened["figures"] == {
        "count": 10,
        "minutes": 15,
        "percent": 100,
        "total": 10,
    }
    assert closed["open_s"] >= 3_500


def test_a_look_costs_as_many_queries_however_many_runs_there_are(cast):
    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            look(cast)
        return len(queries)

    fail(cast, 10)
    look(cast)
    before = cost()
    fail(cast, 30)
    look(cast)
    assert cost() == before < 30


def test_teams_at_rest_are_left_out(cast):
    assert list(alerts_evaluate(later(days=3))) == []
    fail(cast)
    look(cast)
    assert list(alerts_evaluate(later(days=3))) == [1]  # it closes


def test_old_alerts_are_forgotten_and_open_ones_are_not(cast):
    fail(cast)
    look(cast)
    list(alerts_forget(later(days=500)))
    assert len(open_alerts(cast)) == 1
    look(cast, later(hours=1))
    list(alerts_forget(later(days=500)))
    assert not Alert.objects.for_team(cast.team.id).exists()


# --- where an alert leads ------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "hours", "days"),
    [
        ("runs", None, "2026-03-01..2026-03-03"),
        ("plans", 12, "2026-03-01..2026-03-02"),
    ],
)
def test_an_alert_leads_to_the_days_from_its_window_to_its_end(kind, hours, days):
    opened = datetime(2026, 3, 2, 0, 5, tzinfo=UTC)
    alert = Alert(
        kind=kind,
        opened_at=opened,
        closed_at=opened + timedelta(hours=hours) if hours else None,
        figures={"minutes": 15},
    )
    with time_machine.travel(opened + timedelta(days=1), tick=False):
        place, _ = alert_place(alert)
    assert f"period={days}" in place
