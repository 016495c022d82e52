"""The cache in Redis, and what becomes of it while Redis is away."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache, caches
from django.test import Client

from apps.core.redis_outage import redis_outage
from tests.conftest import Cast
from tests.services import Redis

SIGN_IN = "/accounts/login/"


def sign_in(password: str) -> Any:
    form = {"login": "bob@example.org", "password": password}
    return Client().post(SIGN_IN, form)


def test_processes_share_the_cache(own_redis: Redis) -> None:
    cache.set("place", "here")
    caches.close_all()
    del caches["default"]  # another process has an object of its own
    assert cache.get("place") == "here"
    assert cache.add("place", "there") is False
    assert cache.delete("place") and cache.get("place", "nowhere") == "nowhere"


def test_the_cache_survives_restarts_of_redis(own_redis: Redis) -> None:
    cache.set("place", "here")
    own_redis.kill()
    own_redis.start()
    assert cache.get("place") == "here" and not redis_outage.is_on


@pytest.mark.parametrize("way", ["kill", "pause"])
def test_who_signs_in_needs_no_redis(own_redis: Redis, cast: Cast, way: str) -> None:
    cast.bob.set_password("right horse battery")
    cast.bob.save()
    getattr(own_redis, way)()
    cache.clear()
    assert sign_in("right horse battery").status_code == 302
    assert redis_outage.is_on


def test_attempts_to_sign_in_are_counted_while_redis_is_away(
    own_redis: Redis, cast: Cast
) -> None:
    own_redis.kill()
    cache.clear()
    found = [sign_in("wrong").content.decode() for _ in range(12)]
    assert "Too many" not in found[0] and "Too many" in found[-1]
