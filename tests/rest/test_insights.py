"""Insights over REST."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Scope
from tests.insights.runs import FAULT, LOOP, answered
from tests.rest.conftest import fault, keyed

PARTS = ("queries", "failures", "plans")


@pytest.fixture
def runs(cast):
    now = timezone.now()
    return [
        answered(cast, now, user=cast.alice, cost_micros=3_000, findings=[FAULT, LOOP]),
        answered(cast, now, user=cast.bob, state="failed", error_code="worker_failed"),
        answered(cast, now - timedelta(days=40), user=cast.bob),
        answered(cast, now, source="evaluation"),
    ]


@pytest.mark.parametrize("part", PARTS)
def test_viewers_read_and_other_teams_see_nothing(vera, mallory, runs, part):
    assert vera.get(f"insights/{part}/").status_code == 200
    answer = mallory.get(f"insights/{part}/").json()
    assert [answer[name] for name in ("rows", "faults", "plans") if name in answer] == [
        []
    ]


@pytest.mark.parametrize("part", PARTS)
def test_keys_need_the_scope_of_usage(cast, runs, part):
    assert (
        keyed(cast.team, Scope.BUDGETS_READ).get(f"insights/{part}/").status_code == 200
    )
    fault(keyed(cast.team, Scope.READ).get(f"insights/{part}/"), 403)


def test_queries_are_summed_beside_the_period_before(vera, cast, runs):
    told = vera.get("insights/queries/?group=member").json()
    assert [(row["label"], row["runs"], row["cost_usd"]) for row in told["rows"]] == [
        ("Alice", 1, "0.003"),
        ("Bob", 1, "0.001"),
    ]
    assert told["rows"][0]["key"] == cast.alice.id.hex
    assert told["total"]["latency_ms"]["p50"] == pytest.approx(2_000, rel=0.05)
    assert told["total"]["first_token_ms"]["p95"] == pytest.approx(400, rel=0.05)
    assert told["before"]["runs"] == 1
    assert told["is_complete"] is True


def test_runs_of_tests_count_if_asked_for(vera, runs):
    assert vera.get("insights/queries/?with_tests=true").json()["total"]["runs"] == 3


def test_every_row_has_percentiles(vera, cast):
    for number in range(60):
        answered(cast, timezone.now(), family=f"family {number}")
    rows = vera.get("insights/queries/?group=family").json()["rows"]
    assert len(rows) == 60
    assert all(row["latency_ms"] and row["cost_each_usd"] for row in rows)


def test_failures_tell_rescue_and_examples(vera, runs):
    told = vera.get("insights/failures/").json()
    found = {each["fault"]: each for each in told["faults"]}
    assert found["rate_limited"]["rescues"] == {"retry": 1}
    assert found["worker_failed"]["example_runs"] == [str(runs[1].id)]
    assert [each["fault"] for each in told["loops"]] == ["repeated_subtask"]


def test_plans_tell_their_graph(vera, runs):
    (plan,) = vera.get("insights/plans/").json()["plans"]
    assert (plan["graph"], plan["runs"], plan["completed"]) == ("2 → 1", 2, 1)
    assert plan["access"] == [[], [], [0, 1]]


def test_one_day_is_a_period(vera, runs):
    day = runs[2].created_at.date()
    told = vera.get(f"insights/queries/?since={day}&until={day}").json()
    assert [row["key"] for row in told["rows"]] == [day.isoformat()]


@pytest.mark.parametrize(
    "query",
    [
        "group=planet",
        "since=yesterday",
        "since=2020-01-01",
        "until=9999-12-31",
        "until=0001-01-01",
        "since=2020-01-02&until=2020-01-01",
        "with_tests=maybe",
        "from=2020-01-01",
    ],
)
def test_what_makes_no_sense_is_refused(vera, cast, query):
    fault(vera.get(f"insights/queries/?{query}"), 400)
