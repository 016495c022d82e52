"""Cache and channel layer: shared through Redis, or in the memory of each process."""

from __future__ import annotations

from typing import Any

from apps.core.redis_outage import hasty_client, listening_client


def channel_layers(redis_url: str) -> dict[str, Any]:
    """Return CHANNEL_LAYERS for this Redis; without one, for a single process."""
    if not redis_url:
        return {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    return {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [{"address": redis_url, **listening_client()}]},
        }
    }


def caches(redis_url: str) -> dict[str, Any]:
    """Return CACHES for this Redis; without one, for a single process."""
    if not redis_url:
        memory = "django.core.cache.backends.locmem.LocMemCache"
        return {"default": {"BACKEND": memory}}
    return {
        "default": {
            "BACKEND": "apps.core.caches.RedisOrMemoryCache",
            "LOCATION": redis_url,
            "OPTIONS": hasty_client(),
        }
    }
