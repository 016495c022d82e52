"""A conversation keeps its worker whichever process of the site has the next turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from apps.core.redis_outage import redis_outage
from apps.runs.execution.executor import get_executor
from tests.conftest import Site
from tests.patience import eventually
from tests.runs.asking import Stage
from tests.runs.test_stickiness import (
    FIRST,
    RULES,
    first_turn,
    follow_up,
    plan_of,
    turn_workers,
)
from tests.runs.test_stickiness import shop as shop_of
from tests.services import Redis

shop = shop_of


@pytest.fixture
def stage(own_redis: Redis, stage: Stage) -> Stage:
    return stage


@pytest.fixture
def stored(own_redis: Redis) -> Iterator[Any]:
    with redis.Redis.from_url(own_redis.url) as client:
        yield client


def turns_in(client: Any) -> list[bytes]:
    return list(client.keys("conversation-turn:*"))


def forget() -> None:
    """Let this process know as little as one that has just started."""
    get_executor()._conversations._turns.clear()


def test_a_turn_that_another_process_executed_is_followed(
    shop: Site, stored: Any
) -> None:
    history = first_turn(shop)
    first = plan_of(shop).workers
    assert eventually(lambda: bool(turns_in(stored)))
    forget()
    turn_workers(shop)
    follow_up(shop, history)
    assert (plan_of(shop).workers, plan_of(shop).stickiness) == (first, "kept")


def test_redis_holds_no_text_and_forgets_within_the_hour(
    shop: Site, stored: Any
) -> None:
    history = first_turn(shop)
    assert eventually(lambda: bool(turns_in(stored)))
    (key,) = turns_in(stored)
    value = stored.get(key)
    for text in (RULES, FIRST, history[-1]["content"], str(shop.cast.team.id)):
        assert text.encode() not in key + value
    assert 0 < stored.ttl(key) <= 3_600


@pytest.mark.parametrize("nonsense", [b"", b"{}", b'[[["a"]],true,0]', b"\xff"])
def test_what_is_unreadable_in_redis_is_passed_over(
    shop: Site, stored: Any, nonsense: bytes
) -> None:
    history = first_turn(shop)
    assert eventually(lambda: bool(turns_in(stored)))
    stored.set(turns_in(stored)[0], nonsense)
    forget()
    follow_up(shop, history)
    assert plan_of(shop).stickiness == ""


@pytest.mark.parametrize("way", ["kill", "pause"])
def test_without_redis_a_turn_is_planned_as_if_it_were_the_first(
    own_redis: Redis, shop: Site, way: str
) -> None:
    history = first_turn(shop)
    forget()
    getattr(own_redis, way)()
    follow_up(shop, history)
    assert plan_of(shop).stickiness == ""
    assert redis_outage.is_on
    follow_up(shop, first_turn(shop))  # the process itself remembers all the same
    assert plan_of(shop).stickiness == "kept"
