"""Fills a database with a large team, for benchmarks of lists and of reads.

On PostgreSQL the runs are made by the database itself, on SQLite by Python. Needs
Django's settings; the database must be migrated and empty.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.utils import timezone

from apps.accounts.models import DEFAULT_SCOPES, ApiKey, Membership, Role, Team, User
from apps.accounts.services import team_create
from apps.audit.types import Actor
from apps.core.ids import first_id
from apps.runs.models import Run, RunState, Step

PERIOD = timedelta(days=35)
"""The runs are spread evenly over this time, up to now."""
RUNNING = 20
"""The latest runs, that have not ended yet."""
BATCH = 5_000
ENDED = [state for state in RunState.values if state != RunState.RUNNING]
WORKERS = 8


def seed_team(
    *, slug: str = "bench", runs: int, members: int, keys: int, running: int = RUNNING
) -> User:
    """Make a team, or fill the one there is, and return its owner."""
    owner = User.objects.create_user("owner@example.org", name="The owner")
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        actor = Actor("service", "bench", "bench")
        team = team_create(name="Bench", actor=actor, owner=owner)
    else:
        Membership.objects.create(team=team, user=owner, role=Role.OWNER)
    people = _seed_people(team, members - 1) or [owner]
    made = _seed_keys(team, people, keys)
    seed = _runs_by_sql if connection.vendor == "postgresql" else _runs_by_python
    seed(team, people, made, runs, running)
    return owner


def sign_in(user: User) -> str:
    """Return the cookie of a session of this person."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "allauth.account.auth_backends.AuthenticationBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return f"sessionid={session.session_key}"


def settle() -> None:
    """Let the database look at what was written, as it does by itself soon after."""
    with connection.cursor() as cursor:
        is_sqlite = connection.vendor == "sqlite"
        cursor.execute("ANALYZE" if is_sqlite else "VACUUM ANALYZE")


def _seed_people(team: Team, count: int) -> list[User]:
    people = [
        User(email=f"person{i}@example.org", name=f"Person {i}", password="!")
        for i in range(count)
    ]
    User.objects.bulk_create(people, BATCH)
    Membership.objects.bulk_create(
        [Membership(team=team, user=user, role=Role.MEMBER) for user in people], BATCH
    )
    return people


def _seed_keys(team: Team, people: list[User], count: int) -> list[ApiKey]:
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
        for i in range(count)
    ]
    return ApiKey.objects.bulk_create(keys, BATCH)


# --- runs ----------------------------------------------------------------------------


def _run(team: Team, i: int, count: int, running: int) -> Run:
    created_at = timezone.now() - PERIOD / count * (count - i)
    is_running = i >= count - running
    return Run(
        id=uuid.UUID(int=first_id(created_at).int + i),
        team=team,
        state=RunState.RUNNING if is_running else ENDED[i % 7 % len(ENDED)],
        source="api" if i % 2 else "playground",
        model="conductor-ultra",
        pool_name="default",
        pool_version=1,
        title=f"What is {i} times {i + 1}, and why?",
        actor_type="api_key" if i % 2 else "user",
        created_at=created_at,
        finished_at=None if is_running else created_at,
        plan=[{"worker": "a", "access": [], "state": "completed"}],
        prompt_tokens=100,
        completion_tokens=50,
        cost_micros=i % 5_000,
        latency_ms=1_000,
    )


def _step(run: Run, i: int) -> Step:
    return Step(
        run=run,
        team_id=run.team_id,
        round=0,
        index=0,
        worker=f"worker-{i % WORKERS}",
        state="completed",
        attempts=1,
        prompt_tokens=100,
        completion_tokens=50,
        cost_micros=i % 5_000,
        latency_ms=1_000,
    )


def _runs_by_python(
    team: Team, people: list[User], keys: list[ApiKey], count: int, running: int
) -> None:
    for start in range(0, count, BATCH):
        runs = []
        for i in range(start, min(start + BATCH, count)):
            run = _run(team, i, count, running)
            run.user = user = people[i % len(people)]
            run.actor_id, run.actor_name = str(user.id), user.name
            if i % 2 and keys:
                run.api_key = key = keys[i % len(keys)]
                run.actor_id, run.actor_name = str(key.id), key.name
            runs.append(run)
        Run.objects.bulk_create(runs)
        steps = [_step(run, start + i) for i, run in enumerate(runs)]
        Step.objects.bulk_create(steps)


def _runs_by_sql(
    team: Team, people: list[User], keys: list[ApiKey], count: int, running: int
) -> None:
    """Copy one run and its step `count` times, with what differs from row to row.

    So a column that is added later needs nothing here.
    """
    first = _run(team, 0, count, 0)
    first.save(force_insert=True)
    _step(first, 0).save(force_insert=True)
    ended = f"(ARRAY[{', '.join(repr(str(state)) for state in ENDED)}])"
    owner = "CASE WHEN i % 2 = 1 THEN keys.{0} ELSE people.{0} END"
    values = {
        "id": "(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')"
        " || '70008' || lpad(to_hex(i), 15, '0'))::uuid",
        "state": f"CASE WHEN i >= {count - running} THEN 'running'"
        f" ELSE {ended}[1 + i % 7 % {len(ENDED)}] END",
        "source": "CASE WHEN i % 2 = 1 THEN 'api' ELSE 'playground' END",
        "title": "'What is ' || i || ' times ' || i + 1 || ', and why?'",
        "actor_type": "CASE WHEN i % 2 = 1 THEN 'api_key' ELSE 'user' END",
        "actor_id": owner.format("id") + "::text",
        "actor_name": owner.format("name"),
        "user_id": "people.id",
        "api_key_id": "CASE WHEN i % 2 = 1 THEN keys.id END",
        "created_at": "at",
        "finished_at": f"CASE WHEN i < {count - running} THEN at END",
        "cost_micros": "i % 5000",
    }
    step = {
        "run_id": "runs_run.id",
        "worker": f"'worker-' || runs_run.cost_micros % {WORKERS}",
        "cost_micros": "runs_run.cost_micros",
    }
    sizes = (count, count, count, len(people), len(keys))
    given: list[Any] = [team.id, timezone.now(), PERIOD, *sizes, first.id]
    numbered = "SELECT row_number() OVER (ORDER BY id) - 1 AS n, id, name FROM"
    with connection.cursor() as cursor:
        # Unless it knows how many people there are it compares all for each run.
        cursor.execute("ANALYZE accounts_user, accounts_apikey")
        # Keys to other tables are right by construction; checking took half the time.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            f"WITH people AS MATERIALIZED ({numbered} accounts_user"
            " WHERE email LIKE 'person%%'),"
            f" keys AS MATERIALIZED ({numbered} accounts_apikey WHERE team_id = %s)"
            f" {_copy(Run, values)} FROM runs_run AS pattern,"
            " (SELECT i, %s::timestamptz - %s::interval / %s * (%s - i) AS at"
            "  FROM generate_series(1, %s - 1) AS i) AS series"
            " JOIN people ON people.n = i %% %s JOIN keys ON keys.n = i %% %s"
            " WHERE pattern.id = %s",
            given,
        )
        cursor.execute(
            f"{_copy(Step, step)} FROM runs_step AS pattern, runs_run"
            " WHERE pattern.run_id = %s AND runs_run.id <> %s",
            [first.id, first.id],
        )
        cursor.execute("RESET session_replication_role")


def _copy(model: Any, values: dict[str, str]) -> str:
    """Return an INSERT of the pattern's columns, but for those in `values`."""
    columns = [
        field.column
        for field in model._meta.concrete_fields
        if field.column in values or not field.primary_key
    ]
    told = [
        values.get(name, f'pattern."{name}"').replace("%", "%%") for name in columns
    ]
    names = ", ".join(f'"{name}"' for name in columns)
    return f"INSERT INTO {model._meta.db_table} ({names}) SELECT {', '.join(told)}"
