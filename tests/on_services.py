"""Runs the tests on PostgreSQL and Redis: `python -m pytest -p tests.on_services …`.

The servers are started before the settings are read and removed at the end. Of several
test processes (`-n 2`) each has a database of its own, which pytest-django makes, and a
Redis database of its own. Runs execute where they are asked for, as without Redis,
unless a test says otherwise.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.services import postgres, redis

HASTE = {"synchronous_commit": "off", "full_page_writes": "off"}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Name the servers in the environment, before anybody reads the settings."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        servers = ExitStack()
        atexit.register(servers.close)  # however this process ends, wrong options too
        os.environ["DATABASE_URL"] = servers.enter_context(postgres(HASTE)).url
        os.environ["REDIS_URL"] = servers.enter_context(redis()).url
        os.environ["BACKGROUND_RUNS"] = "here"
        # The processes of -n get `-p` too late for this hook.
        os.environ["PYTEST_PLUGINS"] = __name__
    else:
        server, _, _ = os.environ["REDIS_URL"].rpartition("/")
        os.environ["REDIS_URL"] = f"{server}/{int(worker.removeprefix('gw')) + 1}"
    return (yield)
