"""Requests and tokens of a minute, for keys and teams."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from apps.accounts.types import KeyHolder
from apps.budgets.errors import RateLimited
from apps.budgets.rates import UNLIMITED, admit, admit_member, rates_clear
from tests.factories import TeamFactory

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _fresh_counts() -> Iterator[None]:
    rates_clear()
    yield
    rates_clear()


@pytest.fixture
def clock() -> Iterator[Any]:
    """A clock that stands still. Nothing may be saved: ids would be of its time."""
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


def holder(**limits: Any) -> KeyHolder:
    values: dict[str, Any] = {"team_id": uuid.uuid4(), "key_id": uuid.uuid4(), **limits}
    return KeyHolder(
        display="laptop",
        scopes=frozenset(),
        always_include_usage=False,
        created_by_id=None,
        expires_at=datetime(2100, 1, 1, tzinfo=UTC),
        **values,
    )


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


def test_tokens_of_the_answer_are_counted_when_the_run_has_ended():
    key = holder(tokens_per_minute=100)
    first = admit(key, prompt_tokens=10)
    assert first.meter is not None
    first.meter.settle(250)
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


def test_a_lost_redis_stops_nobody(settings, caplog):
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    assert admit(holder(requests_per_minute=1)) is UNLIMITED
    assert "rates are not counted" in caplog.text
