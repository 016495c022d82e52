"""Entries appended and verified per second, in one process, SQLite, each with a body.

Appended durably through the group commit that runs use; verified the way
`manage.py audit_verify` does, from the first entry to the head, bodies included.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from contextlib import closing
from functools import partial
from typing import Any

from bench.figures import alternate, keep, say
from bench.servers import ROOT, folder, manage

ROUNDS = 5
ENTRIES = 10_000
PER_BATCH = 2
WRITERS = (1, 32, 256)
TREE = ("without the tree", "with the tree")
"""Without: no checkpoint is made, and so nothing is added to the tree."""
TREE_ENTRIES = 40_000
LOOK_S = 1.0
"""Between looks of the thread that signs: a round has several, a site fewer."""
FEW = 400
"""Entries of a round with one writer, who waits for each commit."""


def main() -> None:
    """Measure in a process with a database of its own, and keep the figures."""
    with folder() as path:
        env = {
            "CONDUCTOR_VAR_DIR": str(path),
            "DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}",
            "DJANGO_SETTINGS_MODULE": "conductor_site.settings",
        }
        manage(env, "migrate", "--verbosity", "0")
        say("ledger")
        done = subprocess.run(
            [sys.executable, "-m", "bench.ledger", "--inside"],
            cwd=ROOT,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            check=True,
        )
    keep("ledger", json.loads(done.stdout))


def inside() -> dict[str, Any]:
    """Return the figures; runs with Django's settings in the environment."""
    import django

    django.setup()
    from apps.audit.verify import verify_team
    from apps.audit.writer import close_writer

    team_id = uuid.uuid4()
    figures: dict[str, Any] = {"rounds": ROUNDS, "append": {}}
    figures["append"] = alternate(
        [str(count) for count in WRITERS],
        lambda count: _append(team_id, int(count)),
        ROUNDS,
    )
    figures["tree"] = alternate(TREE, partial(_append_beside, uuid.uuid4()), ROUNDS)
    close_writer()

    def verify(_: str) -> dict[str, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        report = verify_team(team_id)
        if not report.is_intact or report.bodies != report.entries:
            raise RuntimeError(f"the chain does not hold: {report.fault}")
        return _rates(report.entries, wall, cpu)

    figures["verify"] = alternate(["verify"], verify, ROUNDS)["verify"]
    return figures


def _append_beside(team_id: uuid.UUID, which: str) -> dict[str, float]:
    """Append with or without the thread that extends the tree and signs it."""
    from apps.audit.checkpoints import thread

    thread.EVERY_S, thread.TAIL_S = LOOK_S, 0.0
    if which == TREE[0]:
        return _append(team_id, WRITERS[-1], TREE_ENTRIES)
    with closing(thread.CheckpointThread()) as beside:
        beside.look()  # what rounds without it have left is not part of this one
        return _append(team_id, WRITERS[-1], TREE_ENTRIES)


def _append(
    team_id: uuid.UUID, writers: int, entries: int = ENTRIES
) -> dict[str, float]:
    from apps.audit.types import Actor, Batch, EntryDraft
    from apps.audit.writer import get_writer

    actor = Actor("service", "bench", "bench")
    data = {"round": 0, "step": 1, "attempt": 1, "worker": "a", "latency_ms": 812}
    bodies = {"text": "The answer is 395, because 17 times 23 is 391. " * 4}
    draft = EntryDraft("step.completed", "run", uuid.uuid4(), actor, data, bodies)
    batch = Batch(team_id, (draft,) * PER_BATCH)
    batches = (FEW if writers == 1 else entries) // PER_BATCH
    left = iter(range(batches))

    async def write() -> None:
        for _ in left:
            await get_writer().post(batch)

    async def all_of_them() -> None:
        await asyncio.gather(*(write() for _ in range(writers)))

    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(all_of_them())
    return _rates(batches * PER_BATCH, wall, cpu)


def _rates(count: int, wall: float, cpu: float) -> dict[str, float]:
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "entries": count,
        "per_s": count / wall_s,
        "per_cpu_s": count / cpu_s,
        "median_ms": 1000 * wall_s / count,
    }


if __name__ == "__main__":
    if "--inside" in sys.argv:
        print(json.dumps(inside()))
    else:
        main()
