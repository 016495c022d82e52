"""The databases a benchmark runs on, as environment variables; each starts empty."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.servers import ROOT
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


def child_figures(env: Mapping[str, str], module: str, *arguments: str) -> Any:
    """Run a module in a process of its own; return the JSON of its last line."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout.splitlines()[-1])
