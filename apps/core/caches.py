"""Django's cache in Redis, and in this process's memory while Redis is away.

What is cached are counts of attempts to sign in and used one-time codes, for
django-allauth. While Redis is away they protect each process by itself, and everybody
can go on signing in.
"""

from __future__ import annotations

from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

from apps.core.redis_outage import redis_outage


class RedisOrMemoryCache(BaseCache):
    """A cache that never fails because of Redis."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._redis = RedisCache(server, params)
        self._memory = LocMemCache("redis-is-away", {**params, "OPTIONS": {}})

    def _ask(self, method: str, *values: Any) -> Any:
        if not redis_outage.is_on:
            try:
                return getattr(self._redis, method)(*values)
            except RedisError as exc:
                redis_outage.begin(exc)
        return getattr(self._memory, method)(*values)

    def add(
        self,
        key: Any,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        """Set a value unless there is one; say whether it was set."""
        return bool(self._ask("add", key, value, timeout, version))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """Return a value, or `default`."""
        return self._ask("get", key, default, version)

    def set(
        self,
        key: Any,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        """Set a value."""
        self._ask("set", key, value, timeout, version)

    def touch(
        self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Set when a value ends; say whether there is one."""
        return bool(self._ask("touch", key, timeout, version))

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Remove a value; say whether there was one."""
        return bool(self._ask("delete", key, version))

    def clear(self) -> None:
        """Remove everything."""
        self._ask("clear")
