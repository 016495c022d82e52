"""The cache of recently read values, with a clock that stands still."""

import pytest

from apps.core import ttl_cache
from apps.core.ttl_cache import CACHE_SECONDS, TtlCache


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def cache(now):
    return TtlCache(lambda: now[0])


def test_a_value_is_answered_while_fresh(cache, now):
    cache.put("a", 1, generation=cache.generation)
    now[0] += CACHE_SECONDS - 0.1
    assert cache.get("a") == 1


def test_a_value_is_gone_after_its_time(cache, now):
    cache.put("a", 1, generation=cache.generation)
    now[0] += CACHE_SECONDS
    assert cache.get("a") is None


def test_a_value_never_outlives_its_own_lifetime(cache, now):
    cache.put("a", 1, generation=cache.generation, lifetime_s=1)
    now[0] += 1
    assert cache.get("a") is None


def test_a_drop_forgets_what_matches_alone(cache):
    for key in "ab":
        cache.put(key, key, generation=cache.generation)
    cache.drop(lambda key, value: value == "a")
    assert (cache.get("a"), cache.get("b")) == (None, "b")


def test_a_value_read_before_a_drop_is_not_kept_after_it(cache):
    generation = cache.generation
    cache.clear()
    cache.put("a", 1, generation=generation)
    assert cache.get("a") is None


def test_the_cache_is_bounded(cache, monkeypatch):
    monkeypatch.setattr(ttl_cache, "MAX_ENTRIES", 2)
    for key in "abc":
        cache.put(key, 1, generation=cache.generation)
    assert [cache.get(key) for key in "ac"] == [None, 1]
