"""Pages of a ledger of 1,000,000 entries: how many queries, and how long.

On SQLite and on PostgreSQL, both fresh. Each address is asked in process by an owner:
what is measured is the view with its queries and its template. One entry in fifty is a
change by a person, the others are of runs. `--entries N` for another size, `--only
PostgreSQL` for one database (then nothing is kept).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from bench.databases import EMBEDDED, PRODUCTION, child_figures, database
from bench.figures import keep, say
from bench.servers import folder

ENTRIES = 1_000_000
TIMES = 30
BATCH = 5_000
EVERY = 50
"""One entry in so many is a change by a person."""
PERIOD = timedelta(days=200)
OF_A_RUN = (
    "run.created",
    "plan.requested",
    "plan.replied",
    "plan.accepted",
    "step.started",
    "step.completed",
    "step.started",
    "step.completed",
    "run.completed",
)
CHANGES = (
    "worker.updated",
    "pool.changed",
    "api_key.issued",
    "api_key.revoked",
    "member.changed",
    "budget.updated",
    "policy.updated",
)
PEOPLE = [uuid.UUID(int=0x7000_8000 << 64 | i) for i in range(20)]
THINGS = [uuid.UUID(int=0x7000_9000 << 64 | i) for i in range(200)]
ADDRESSES = {
    "first page": "/ledger/",
    "without routine": "/ledger/?only=rare",
    "by a rare action": "/ledger/?action=member.changed",
    "by a group of actions": "/ledger/?action=api_key.*",
    "by a routine action": "/ledger/?action=step.completed",
    "by an action nobody did": "/ledger/?action=team.deleted",
    "by actor": f"/ledger/?actor={PEOPLE[3]}",
    "by actor, without routine": f"/ledger/?actor={PEOPLE[3]}&only=rare",
    "by an actor nobody knows": "/ledger/?actor=nobody",
    "by subject": f"/ledger/?subject={THINGS[7]}",
    "by outcome, of which there is none": "/ledger/?outcome=denied",
    "by data class": "/ledger/?data_class=confidential",
    "by data class, without routine": "/ledger/?data_class=confidential&only=rare",
    "by a data class that no entry has": "/ledger/?data_class=restricted",
    "by data class, by actor": f"/ledger/?data_class=confidential&actor={PEOPLE[3]}",
    "a week": "/ledger/?since={since}&until={until}",
    "a week, by actor": "/ledger/?since={since}&until={until}&actor=person+3",
    "deep page": "/ledger/?before=100000",
    "deep page, without routine": "/ledger/?only=rare&before=100000",
    "words, found": "/ledger/?q=worker-3",
    "words, not found": "/ledger/?q=nowhere+to+be+found",
    "words, not found, without routine": "/ledger/?q=nowhere&only=rare",
    "one entry": "/ledger/{middle}/",
    "REST": "/api/v1/ledger/",
    "REST, words, not found": "/api/v1/ledger/?query=nowhere",
}


def main() -> None:
    """Measure on each database, and keep the figures."""
    args = _arguments()
    figures: dict[str, Any] = {}
    for name in [args.only] if args.only else (EMBEDDED, PRODUCTION):
        with folder() as path, database(name, path) as env:
            say(f"ledger pages on {name}: seeding {args.entries:,} entries")
            env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
            figures[name] = child_figures(
                env, "bench.ledger_pages", "--seeded", "--entries", str(args.entries)
            )
    if not args.only and args.entries == ENTRIES:
        found = {"entries": ENTRIES, "rounds": TIMES, "databases": figures}
        keep("ledger_pages", found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ledger_pages")
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--only", choices=[EMBEDDED, PRODUCTION])
    parser.add_argument("--seeded", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- in the child --------------------------------------------------------------------


def measure(entries: int) -> dict[str, Any]:
    """Seed the database and ask every address."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from apps.accounts.models import Team
    from bench.seeding import seed_team, settle
    from conductor_site.runtime_tuning import tune_interpreter

    call_command("migrate", verbosity=0)
    start = time.perf_counter()
    owner = seed_team(runs=100, members=20, keys=5)
    _seed(Team.objects.get().id, entries)
    settle()
    say(f"  seeded in {time.perf_counter() - start:.0f} s")
    tune_interpreter()  # as processes that serve do
    client = Client(headers={"host": "localhost"})
    client.force_login(owner)
    middle = datetime.now(UTC) - PERIOD / 2
    days = {"since": middle.date(), "until": (middle + timedelta(days=6)).date()}
    seen = {}
    for name, pattern in ADDRESSES.items():
        address = pattern.format(**days, middle=entries // 2)
        _timed(client, address)
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        count = len(queries)
        taken = [_timed(client, address) for _ in range(TIMES)]
        times = sorted(wall_s for wall_s, _ in taken)
        seen[name] = {
            "queries": count,
            "median_ms": 1000 * statistics.median(times),
            "p95_ms": 1000 * times[int(0.95 * (TIMES - 1))],
            "cpu_ms": 1000 * statistics.median(cpu_s for _, cpu_s in taken),
        }
        median, high, cpu = (seen[name][k] for k in ("median_ms", "p95_ms", "cpu_ms"))
        times = f"{median:.1f} ms, p95 {high:.1f}, CPU {cpu:.1f}"
        say(f"  {name}: {count} queries, {times}")
    return seen


def _timed(client: Any, address: str) -> tuple[float, float]:
    """Return how long an answer took, and the time of the processor in it, in s."""
    start, cpu_start = time.perf_counter(), time.process_time()
    response = client.get(address)
    took_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    if response.status_code != 200:
        raise RuntimeError(f"{address}: {response.status_code}")
    return took_s, cpu_s


def _seed(team_id: uuid.UUID, entries: int) -> None:
    """Add entries behind the ledger's back: pages do not check hashes."""
    from django.db import connection, transaction

    from apps.audit.models import ChainHead
    from apps.audit.sql_dialects import dialect_of

    dialect = dialect_of(connection)
    table = (
        "audit_entry (team_id, seq, id, action, subject_type, subject_id, "
        "recorded_at, canonical, hash, mac)"
    )
    ChainHead.objects.filter(team_id=team_id).delete()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM audit_entry")
    rows = _rows(team_id, entries)
    while batch := list(islice(rows, BATCH)):
        adapted = [tuple(dialect.adapt(value) for value in row) for row in batch]
        with transaction.atomic(), connection.cursor() as cursor:
            dialect.insert(cursor.connection.cursor(), table, adapted)
    ChainHead.objects.create(
        team_id=team_id, seq=entries, hash=_hash(entries), mac_from=1, mac=b""
    )


def _rows(team_id: uuid.UUID, entries: int) -> Iterator[tuple[Any, ...]]:
    from apps.audit.storage.compression import compressed

    start = datetime.now(UTC) - PERIOD
    step = PERIOD / entries
    for seq in range(1, entries + 1):
        moment = start + step * seq
        number = seq // len(OF_A_RUN)
        data: dict[str, Any] = {"round": 0, "step": seq % 3, "worker": f"w-{seq % 8}"}
        if seq % EVERY:
            action, kind = OF_A_RUN[seq % len(OF_A_RUN)], "run"
            subject = uuid.UUID(int=0x7000_A000 << 64 | number)
            data |= {"latency_ms": seq % 5_000, "reason": "as planned " * 20}
            data |= {"data_class": "confidential"} if seq % 1_000 == 1 else {}
        else:
            action = CHANGES[seq // EVERY % len(CHANGES)]
            kind, subject = action.partition(".")[0], THINGS[seq // EVERY % 200]
            data |= {"name": f"worker-{seq % 7}", "before": {"limit": seq % 9}}
            data |= {"after": {"limit": seq % 11}}
        entry_id = uuid.UUID(int=0x7000_B000 << 64 | seq)
        who = seq // EVERY % len(PEOPLE)
        actor = {"display": f"Person {who}", "id": str(PEOPLE[who]), "type": "user"}
        document = {
            "action": action,
            "actor": actor,
            "bodies": {"text": {"bytes": 900, "digest": _hash(seq)}},
            "context": {"address": "192.0.2.7", "request_id": str(entry_id)},
            "data": data,
            "id": str(entry_id),
            "outcome": "failure" if seq % 997 == 0 else "success",
            "recorded": moment.isoformat(timespec="microseconds")[:26] + "Z",
            "targets": [{"id": str(subject), "type": kind}],
            "v": 1,
        }
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        (frame,) = compressed([canonical])
        hashed = _hash(seq), b"m" * 40
        place = team_id, seq, entry_id, action, kind, subject, moment
        yield *place, frame, *hashed


def _hash(seq: int) -> str:
    return f"sha256:{seq:064x}"


if __name__ == "__main__":
    given = _arguments()
    if given.seeded:
        print(json.dumps(measure(given.entries)))
    else:
        main()
