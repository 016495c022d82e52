"""What the tests of accounts share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from apps.accounts.services import api_key_cache_clear


@pytest.fixture(autouse=True)
def _fresh_key_cache() -> Iterator[None]:
    api_key_cache_clear()
    yield
    api_key_cache_clear()


@pytest.fixture(autouse=True)
def _no_attempts_counted() -> Iterator[None]:
    """Forget attempts to sign in: all tests come from one address."""
    cache.clear()
    yield
    cache.clear()
