"""Sums that are kept read as those of the rows, day by day and for the day so far."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
import time_machine

from apps.insights import rollup
from apps.insights.models import KeptSpan, QueryRow
from apps.insights.rollup import insights_watch, team_insights_keep
from apps.insights.selectors import fault_report, query_report, shape_report
from apps.insights.types import GROUPS, Inquiry
from apps.runs.models import RunState
from tests.conftest import Cast
from tests.insights.runs import FAULT, LOOP, PARALLEL, answered

pytestmark = pytest.mark.django_db
NOW = datetime(2025, 1, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def noon() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


def asked(team_id: uuid.UUID, days: int = 7, *, with_tests: bool = False) -> Inquiry:
    since = NOW.replace(hour=0) - timedelta(days=days - 1)
    return Inquiry(team_id, since, NOW, with_tests)


def spread(cast: Cast, count: int = 120, days: int = 12) -> None:
    random = Random(1)
    for _ in range(count):
        answered(
            cast,
            NOW - random.random() * days * DAY - timedelta(minutes=20),
            state=random.choice(["completed", "completed", "failed", "cancelled"]),
            source=random.choice(["api", "playground", "evaluation", "shadow"]),
            model=random.choice(["conductor-mini", "lab/ultra", "worker/alpha"]),
            planner=random.choice(["language_model", "fallback"]),
            plan=random.choice([PARALLEL, PARALLEL[:1], []]),
            user=random.choice([cast.alice, cast.bob, None]),
            api_key=random.choice([cast.key.row, None]),
            cost_micros=random.randrange(9_000),
            has_unknown_cost=random.random() < 0.1,
            latency_ms=random.randrange(1, 60_000),
            first_token_ms=random.choice([None, 300, 4_000]),
            findings=random.choice([None, [], [FAULT], [FAULT, LOOP, FAULT]]),
            error_code=random.choice(["", "", "worker_failed"]),
        )


def everything(cast: Cast, *, with_tests: bool) -> list[object]:
    ask = asked(cast.team.id, with_tests=with_tests)
    return [
        *(query_report(ask, group) for group in GROUPS),
        fault_report(ask),
        shape_report(ask),
    ]


@pytest.mark.parametrize("with_tests", [False, True])
def test_kept_sums_read_as_the_rows_do(cast, monkeypatch, with_tests):
    spread(cast)
    from_rows = everything(cast, with_tests=with_tests)
    monkeypatch.setattr(rollup, "ENOUGH", 3)
    list(team_insights_keep(cast.team.id))
    assert KeptSpan.objects.for_team(cast.team.id).count() > 7
    assert everything(cast, with_tests=with_tests) == from_rows


def test_parts_of_the_day_add_what_has_ended_since(cast, noon, monkeypatch):
    monkeypatch.setattr(rollup, "ENOUGH", 1)
    answered(cast, NOW - timedelta(hours=2))
    list(team_insights_keep(cast.team.id))
    answered(cast, NOW + timedelta(minutes=5))
    noon.move_to(NOW + timedelta(hours=1))
    list(team_insights_keep(cast.team.id))
    newest = KeptSpan.objects.for_team(cast.team.id).order_by("-until")[0]
    row = QueryRow.objects.for_team(cast.team.id).get(span=newest, group="day")
    assert row.runs == 2


def test_parts_go_when_their_day_is_kept(cast, noon, monkeypatch):
    monkeypatch.setattr(rollup, "ENOUGH", 1)
    answered(cast, NOW - timedelta(hours=2))
    list(team_insights_keep(cast.team.id))
    noon.move_to(NOW + DAY)
    list(team_insights_keep(cast.team.id))
    spans = KeptSpan.objects.for_team(cast.team.id).values_list("day", "until")
    midnight = NOW.replace(hour=0) + DAY
    assert list(spans) == [(NOW.date(), midnight)]


def test_day_with_a_run_that_goes_on_is_not_kept(cast):
    answered(cast, NOW - 2 * DAY, state=RunState.RUNNING)
    answered(cast, NOW - 2 * DAY)
    list(team_insights_keep(cast.team.id))
    assert (NOW - 2 * DAY).date() not in set(
        KeptSpan.objects.for_team(cast.team.id).values_list("day", flat=True)
    )
    assert query_report(asked(cast.team.id), "day").total.runs == 1


def test_what_is_not_kept_is_read_up_to_a_bound(cast, monkeypatch):
    monkeypatch.setattr("apps.insights.periods.MOST_READ", 3)
    for hours in range(5):
        answered(cast, NOW - timedelta(hours=hours + 1))
    report = query_report(asked(cast.team.id), "day")
    assert not report.is_complete
    assert report.total.runs == 4
    list(team_insights_keep(cast.team.id))


def test_watch_keeps_all_teams_once_and_then_those_at_work(cast):
    answered(cast, NOW - 3 * DAY)
    watch = insights_watch()
    assert set(watch.keep()) == {cast.team.id}
    assert list(watch.keep()) == []
    answered(cast, NOW - timedelta(minutes=1))
    assert set(watch.keep()) == {cast.team.id}
