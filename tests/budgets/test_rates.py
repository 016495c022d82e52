"""Requests and tokens of a minute, for keys and teams."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from apps.accounts.types import KeyHolder
from apps.budgets.errors import RateLimited
from apps.budgets.rate_limits import UNLIMITED, admit, admit_member, rates_clear
from apps.core.redis_outage import redis_outage
from tests.factories import TeamFactory

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def clock(settings: Any) -> Iterator[Any]:
    """A clock that stands still. Nothing may be saved: ids would be of its time."""
    settings.REDIS_URL = ""  # it has a clock of its own
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


def holder(**limits: Any) -> KeyHolder:
    values: dict[str, Any] = {"team_id": uuid.uuid4(), "key_id": uuid.uuid4(), **limits}
    return KeyHolder(
        team_slug="orchestra",
        team_name="Orchestra",
        display="laptop",
        scopes=frozenset(),
        always_include_usage=False,
        created_by_id=None,
        expires_at=datetime(2100, 1, 1, tzinfo=UTC),
        **values,
    )


async def counted() -> None:
    """Wait until what Redis is told in a thread has been told."""
    await asyncio.get_running_loop().shutdown_default_executor()


def test_a_key_without_limits_costs_nothing():
    assert admit(holder()) is UNLIMITED
    assert UNLIMITED.headers == []


def test_the_request_after_the_last_one_waits_for_the_next_minute(clock):
    key = holder(requests_per_minute=2)
    admit(key).require()
    clock.shift(20)
    admit(key).require()
    refused = admit(key)
    with pytest.raises(RateLimited) as refusal:
        refused.require()
    assert refusal.value.retry_after_s == 40
    clock.shift(40)
    admit(key).require()


def test_a_refused_request_counts_for_nothing(clock):
    key = holder(requests_per_minute=1, tokens_per_minute=100)
    admit(key, prompt_tokens=10).require()
    for _ in range(9):
        assert admit(key, prompt_tokens=10).refusal is not None
    assert dict(admit(key).headers)["x-ratelimit-remaining-tokens"] == "90"


def test_headers_tell_the_tightest_limit_of_each_kind(clock):
    key = holder(
        requests_per_minute=10,
        team_requests_per_minute=5,
        tokens_per_minute=1_000,
        team_tokens_per_minute=5_000,
    )
    assert admit(key, prompt_tokens=100).headers == [
        ("x-ratelimit-limit-requests", "5"),
        ("x-ratelimit-remaining-requests", "4"),
        ("x-ratelimit-reset-requests", "60s"),
        ("x-ratelimit-limit-tokens", "1000"),
        ("x-ratelimit-remaining-tokens", "900"),
        ("x-ratelimit-reset-tokens", "60s"),
    ]


async def test_tokens_of_the_answer_are_counted_when_the_run_has_ended():
    key = holder(tokens_per_minute=100)
    first = admit(key, prompt_tokens=10)
    assert first.meter is not None
    first.meter.settle(250)
    await counted()
    assert admit(key, prompt_tokens=1).refusal is not None


def test_a_run_that_used_less_than_estimated_gives_nothing_back():
    key = holder(tokens_per_minute=100)
    first = admit(key, prompt_tokens=60)
    assert first.meter is not None
    first.meter.settle(5)
    assert admit(key, prompt_tokens=50).refusal is not None


def test_a_prompt_that_never_fits_is_told_so():
    with pytest.raises(RateLimited, match="has about 101 tokens"):
        admit(holder(tokens_per_minute=100), prompt_tokens=101).require()


def test_requests_that_start_no_run_are_not_held_to_tokens():
    key = holder(tokens_per_minute=10)
    admit(key, prompt_tokens=10).require()
    admit(key).require()


def test_keys_of_a_team_share_its_limit_and_other_teams_do_not():
    team = uuid.uuid4()
    limits = {"team_id": team, "team_requests_per_minute": 1}
    admit(holder(**limits)).require()
    assert admit(holder(**limits)).refusal is not None
    admit(holder(team_requests_per_minute=1)).require()


@pytest.mark.django_db
def test_members_and_keys_share_the_limit_of_their_team():
    team = TeamFactory.create(requests_per_minute=1)
    admit_member(team).require()
    key = holder(team_id=team.id, team_requests_per_minute=1)
    assert admit(key).refusal is not None


# --- counts in Redis ------------------------------------------------------------------


def test_processes_share_their_counts(own_redis):
    key = holder(requests_per_minute=2)
    admit(key).require()
    rates_clear()  # as another process would begin
    admit(key).require()
    assert admit(key).refusal is not None


async def test_tokens_are_counted_in_redis(own_redis):
    key = holder(tokens_per_minute=100)
    first = admit(key, prompt_tokens=10)
    assert first.meter is not None
    first.meter.settle(250)
    await counted()
    rates_clear()
    assert admit(key, prompt_tokens=1).refusal is not None


def test_limits_hold_while_redis_is_away(own_redis):
    key = holder(requests_per_minute=2)
    admit(key).require()
    own_redis.kill()
    passed = [admit(key).refusal is None for _ in range(5)]
    assert passed == [True, True, False, False, False]


def test_counts_go_on_where_redis_left_them(own_redis):
    key = holder(requests_per_minute=2)
    admit(key).require()
    for _ in range(3):
        own_redis.kill()
        own_redis.start()
    admit(key).require()
    assert admit(key).refusal is not None and not redis_outage.is_on


def test_a_redis_that_hangs_is_waited_for_once(own_redis, monkeypatch):
    key = holder(requests_per_minute=2)
    outages: list[BaseException] = []
    begin = redis_outage.begin

    def noted(fault: BaseException) -> None:
        outages.append(fault)
        begin(fault)

    monkeypatch.setattr(redis_outage, "begin", noted)
    own_redis.pause()
    passed = [admit(key).refusal is None for _ in range(3)]
    own_redis.resume()
    assert passed == [True, True, False]
    assert len(outages) == 1
