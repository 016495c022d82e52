"""The databases a benchmark runs on, as environment variables; each starts empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.services import postgres, redis

EMBEDDED, PRODUCTION = "SQLite", "PostgreSQL"
DURABLE = {"fsync": "on", "shared_buffers": "256MB"}
"""Commits survive a power loss, as in production."""


@contextmanager
def database(
    name: str, path: Path, *, with_redis: bool = False
) -> Iterator[dict[str, str]]:
    """Start a database; on demand, beside PostgreSQL, a Redis server as well."""
    if name == EMBEDDED:
        yield {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}", "REDIS_URL": ""}
        return
    with ExitStack() as stack:
        env = {"DATABASE_URL": stack.enter_context(postgres(DURABLE)).url}
        env["REDIS_URL"] = stack.enter_context(redis()).url if with_redis else ""
        yield env
