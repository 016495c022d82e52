"""Days that got worse than the days before them are marked, others are not."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from apps.insights.anomalies import Anomaly, anomalies_of, robust_score
from apps.insights.histogram import LogHistogram
from apps.insights.query_report import figures
from apps.insights.sums import QuerySums
from apps.insights.types import QueryFigures

TODAY = date(2030, 1, 31)


def day(back: int, **values: Any) -> QueryFigures:
    """Return a day of ten runs, so many days ago."""
    latency = values.pop("latency_ms", 2_000)
    sums = QuerySums(
        **{"runs": 10, "cost_micros": 10_000, **values},
        latencies=LogHistogram.of([latency] * 10),
    )
    key = (TODAY - timedelta(days=back)).isoformat()
    return figures(key, key, sums)


def marked(*days: QueryFigures, first: date = TODAY) -> list[Anomaly]:
    return anomalies_of(days, first)


def usual(count: int = 28) -> list[QueryFigures]:
    return [
        day(back, cost_micros=10_000 + 100 * (back % 3)) for back in range(1, count)
    ]


@pytest.mark.parametrize(
    ("values", "measure"),
    [
        ({"cost_micros": 30_000}, "cost"),
        ({"failed": 4}, "failures"),
        ({"latency_ms": 9_000}, "latency"),
    ],
)
def test_day_that_got_worse_is_marked(values, measure):
    (anomaly,) = marked(*usual(), day(0, **values))
    assert (anomaly.day, anomaly.measure) == (TODAY, measure)
    assert anomaly.value > anomaly.usual
    assert anomaly.days == 27


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"cost_micros": 10_900},
        {"cost_micros": 1},
        {"failed": 1},
        {"latency_ms": 500},
        {"runs": 4, "cost_micros": 400_000},
    ],
    ids=["same", "a little more", "less", "one failure", "quicker", "few runs"],
)
def test_other_days_are_not_marked(values):
    assert marked(*usual(), day(0, **values)) == []


def test_failures_that_chance_explains_are_not_marked():
    before = [day(back, failed=back % 3 == 0) for back in range(1, 28)]
    assert marked(*before, day(0, failed=2)) == []
    assert [each.measure for each in marked(*before, day(0, failed=6))] == ["failures"]


def test_too_few_days_before_mark_nothing():
    assert marked(*usual(7), day(0, cost_micros=90_000)) == []


def test_days_older_than_four_weeks_do_not_count():
    old = [day(back) for back in range(29, 60)]
    assert marked(*old, day(0, cost_micros=90_000)) == []


def test_days_before_the_period_are_compared_and_not_marked():
    days = [*usual(), day(2, cost_micros=90_000), day(0)]
    assert marked(*days) == []


def test_one_odd_day_does_not_hide_the_next():
    days = [*usual()[1:], day(1, cost_micros=80_000), day(0, cost_micros=80_000)]
    assert [each.day for each in marked(*days)] == [TODAY]


def test_score_counts_robust_standard_deviations():
    before = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert robust_score(3.0, before, 0.1) == 0
    assert robust_score(3.0 + 1 / 0.6745, before, 0.1) == pytest.approx(1)
    assert robust_score(4.0, [3.0] * 9, 0.5) == pytest.approx(0.6745 * 2)
