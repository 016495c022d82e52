"""What the tests of the pages about pools share: visitors and what they type."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from apps.accounts.models import User
from apps.pools.models import Pool
from tests.conftest import PROVIDER_KEY
from tests.factories import BASE_URL

SECRET = PROVIDER_KEY
"""A provider's key; no page may ever hold it."""


def signed_in(user: User) -> Client:
    """Return the browser of somebody who signed in."""
    client = Client()
    client.force_login(user)
    return client


def worker_input(**changes: Any) -> dict[str, Any]:
    """Return a filled-in form of a worker."""
    return {
        "name": "fast",
        "base_url": BASE_URL,
        "protocol": "openai",
        "model": "small-model",
        "credential_id": "none",
        "max_tokens_field": "max_tokens",
        "kind": "chat",
        "max_output_tokens": "1024",
        "accepts_tools": "on",
        "is_enabled": "on",
        **changes,
    }


def conductor_input(**changes: Any) -> dict[str, Any]:
    """Return a filled-in form of a conductor."""
    return {
        "name": "planner",
        "base_url": BASE_URL,
        "protocol": "openai",
        "model": "planning-model",
        "credential_id": "none",
        "max_tokens_field": "max_tokens",
        "max_output_tokens": "1024",
        "mode": "lists",
        "prompt_style": "full",
        **changes,
    }


def pool_input(pool: Pool, **changes: Any) -> dict[str, Any]:
    """Return the form of a pool as its page shows it, with changes."""
    tier = {
        "planner": "conductor",
        "delivery": "live",
        "max_steps": "1",
        "max_rounds": "1",
        "max_parallel": "1",
        "max_calls": "12",
        "wall_time_s": "300",
    }
    places = pool.places.order_by("position")
    return {
        "name": pool.name,
        "is_default": "on",
        "conductor_id": str(pool.conductor_id or ""),
        "worker_ids": [str(place.worker_id) for place in places],
        "fallback_id": str(pool.fallback_id),
        "substitute_ids": [str(one.worker_id) for one in places if one.may_substitute],
        "has_ultra": "on",
        "version": str(pool.version),
        **{f"tiers.mini.{name}": value for name, value in tier.items()},
        **{f"tiers.ultra.{name}": value for name, value in tier.items()},
        **changes,
    }


def words(html: str) -> str:
    """Return the text of a page without its markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())
