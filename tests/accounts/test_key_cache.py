"""The cache of resolved keys, with a clock of its own."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from apps.accounts import key_cache
from apps.accounts.key_cache import CACHE_SECONDS, KeyCache
from apps.accounts.types import KeyHolder


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> KeyCache:
    return KeyCache(clock)


def holder() -> KeyHolder:
    return KeyHolder(
        team_id=uuid.uuid4(),
        key_id=uuid.uuid4(),
        display="a key",
        scopes=frozenset(),
        always_include_usage=False,
        created_by_id=None,
        expires_at=datetime(2100, 1, 1, tzinfo=UTC),
    )


def test_entry_is_answered_while_fresh(cache: KeyCache, clock: Clock):
    someone = holder()
    cache.put("digest", someone, lifetime_s=60, generation=cache.generation)
    clock.now += CACHE_SECONDS - 0.1
    assert cache.get("digest") is someone


def test_entry_is_gone_after_five_seconds(cache: KeyCache, clock: Clock):
    cache.put("digest", holder(), lifetime_s=60, generation=cache.generation)
    clock.now += CACHE_SECONDS
    assert cache.get("digest") is None


def test_entry_never_outlives_its_key(cache: KeyCache, clock: Clock):
    cache.put("digest", holder(), lifetime_s=1, generation=cache.generation)
    clock.now += 1
    assert cache.get("digest") is None


def test_drop_forgets_one_key_alone(cache: KeyCache):
    first, second = holder(), holder()
    cache.put("1", first, lifetime_s=60, generation=cache.generation)
    cache.put("2", second, lifetime_s=60, generation=cache.generation)
    cache.drop(first.key_id)
    assert (cache.get("1"), cache.get("2")) == (None, second)


def test_key_read_before_a_drop_is_not_kept_after_it(cache: KeyCache):
    generation = cache.generation
    someone = holder()
    cache.drop(someone.key_id)
    cache.put("digest", someone, lifetime_s=60, generation=generation)
    assert cache.get("digest") is None


def test_cache_is_bounded(cache: KeyCache, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(key_cache, "MAX_ENTRIES", 2)
    for digest in ("1", "2", "3"):
        cache.put(digest, holder(), lifetime_s=60, generation=cache.generation)
    assert [cache.get("1") is None, cache.get("3") is None] == [True, False]
