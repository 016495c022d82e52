"""How long endpoints take to begin: from when on a call counts as late."""

from __future__ import annotations

import uuid

import pytest

from apps.runs.execution import latency_stats as module
from apps.runs.execution.latency_stats import ENOUGH, KEPT, LatencyStats

KEY = (uuid.uuid4(), "http://host/v1", "model")
OTHER = (uuid.uuid4(), "http://host/v1", "model")


def seen(*after_s: float) -> LatencyStats:
    latencies = LatencyStats()
    for value in after_s:
        latencies.began(KEY, is_streamed=True, after_s=value)
    return latencies


def p95(latencies: LatencyStats) -> float | None:
    return latencies.p95_s(KEY, is_streamed=True)


def test_too_few_calls_say_nothing():
    assert p95(seen(*[1.0] * (ENOUGH - 1))) is None
    assert p95(seen(*[1.0] * ENOUGH)) == 1.0


def test_it_is_the_nearest_rank_whatever_the_order():
    assert p95(seen(*range(100, 0, -1))) == 95


def test_only_the_latest_calls_count():
    assert p95(seen(*[9.0] * KEPT, *[1.0] * KEPT)) == 1.0


def test_teams_and_ways_of_asking_are_kept_apart():
    latencies = seen(*[1.0] * ENOUGH)
    assert latencies.p95_s(OTHER, is_streamed=True) is None
    assert latencies.p95_s(KEY, is_streamed=False) is None


def test_leaving_early_says_nothing():
    latencies = seen(*range(100))
    for _ in range(KEPT):
        latencies.left(KEY, is_streamed=True, after_s=0.1)
    assert p95(latencies) == 94


def test_leaving_a_late_call_keeps_it_late():
    # 95 calls of 1 to 95 s and five that were closed at 95.5 s by quicker rivals.
    latencies = seen(*range(1, 96))
    for _ in range(5):
        latencies.left(KEY, is_streamed=True, after_s=95.5)
    assert p95(latencies) == 95


@pytest.mark.parametrize("hung", [ENOUGH, KEPT - ENOUGH])
def test_an_endpoint_that_hangs_does_not_push_the_mark_up(hung: int):
    latencies = seen(*[1.0] * KEPT)
    for _ in range(hung):
        latencies.left(KEY, is_streamed=True, after_s=60.0)
    assert p95(latencies) == 1.0


def test_longest_known_endpoint_makes_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST", 2)
    latencies = seen(*[1.0] * ENOUGH)
    for key in (OTHER, (uuid.uuid4(), "http://host/v1", "model")):
        latencies.began(key, is_streamed=True, after_s=1.0)
    assert p95(latencies) is None


def test_D7_the_limit_is_three_times_what_is_usual_and_ten_seconds_at_least():
    assert seen(*[1.0] * ENOUGH).limit_s(KEY) == 10.0
    assert seen(*[7.0] * ENOUGH).limit_s(KEY) == 21.0
    assert seen(*[7.0] * (ENOUGH - 1)).limit_s(KEY) is None


def test_D7_the_limit_follows_new_calls():
    latencies = seen(*[7.0] * ENOUGH)
    assert latencies.limit_s(KEY) == 21.0
    for _ in range(KEPT):
        latencies.began(KEY, is_streamed=True, after_s=9.0)
    assert latencies.limit_s(KEY) == 27.0


def test_D7_an_endpoint_that_is_given_up_often_is_waited_for_again():
    latencies = seen(*[1.0] * ENOUGH)
    latencies.left(KEY, is_streamed=True, after_s=10.0)
    assert latencies.limit_s(KEY) == 10.0
    latencies.left(KEY, is_streamed=True, after_s=10.0)
    assert latencies.limit_s(KEY) is None
