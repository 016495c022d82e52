"""Exports of whole ledgers with all texts: entries per second, and memory.

1,000 and 10,000 runs of nine entries each, six of them with a text, on SQLite. Each
export runs in a process of its own: the most memory that it took is compared with what
it had when it began.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import uuid
from typing import Any

from bench.databases import EMBEDDED, child_figures, database
from bench.figures import keep, say
from bench.servers import folder, manage

SIZES = (1_000, 10_000)
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
TEXT = "A prompt or an answer of some length. " * 25
RUNS_AT_ONCE = 100
MODULE = "bench.ledger_exports"


def main() -> None:
    """Measure every size, and keep the figures."""
    figures = {}
    for runs in SIZES:
        with folder() as path, database(EMBEDDED, path) as env:
            env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
            env |= {"DJANGO_SETTINGS_MODULE": "conductor_site.settings"}
            manage(env, "migrate", "--verbosity", "0")
            say(f"ledger exports: seeding {runs:,} runs")
            team_id = child_figures(env, MODULE, "--seed", str(runs))
            for form in ("jsonl", "csv", "bundle"):
                seen = child_figures(env, MODULE, "--form", form, "--team", team_id)
                figures[f"{runs} {form}"] = {"runs": runs, "form": form, **seen}
                say(f"  {form}: {seen}")
    keep("ledger_exports", {"exports": list(figures.values()), "rounds": 1})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--form", help=argparse.SUPPRESS)
    parser.add_argument("--team", type=uuid.UUID, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- in the child --------------------------------------------------------------------


def seed(runs: int) -> str:
    """Append the entries of some runs to the chain of a new team; return its id."""
    from django.db import transaction

    from apps.audit.services import entries_append
    from apps.audit.types import SERVICE, Batch, EntryDraft

    team_id = uuid.uuid4()
    for start in range(0, runs, RUNS_AT_ONCE):
        drafts = tuple(
            EntryDraft(
                action,
                "run",
                uuid.UUID(int=0x7000_A000 << 64 | number),
                SERVICE,
                {"round": 0, "step": place, "worker": f"w-{number % 8}"},
                {"text": TEXT} if place % 3 else {},
            )
            for number in range(start, min(start + RUNS_AT_ONCE, runs))
            for place, action in enumerate(OF_A_RUN)
        )
        with transaction.atomic():
            entries_append(batch=Batch(team_id, drafts))
    return str(team_id)


def export(team_id: uuid.UUID, form: str) -> dict[str, Any]:
    """Export a team's chain; return its figures."""
    from apps.audit.browsing.search import EntryFilter
    from apps.audit.exports.jobs import access_export, export_request, export_take
    from apps.audit.models import ExportFormat
    from apps.audit.types import SERVICE

    made = export_request(
        team_id=team_id,
        wanted=EntryFilter(),
        form=ExportFormat(form),
        has_texts=True,
        actor=SERVICE,
    )
    before, start = _peak_mib(), time.perf_counter()
    for _ in export_take() or ():
        pass
    took_s = time.perf_counter() - start
    done = access_export(team_id=team_id, export_id=made.id)
    if done.error or not done.sha256:
        raise RuntimeError(f"no export: {done.error}")
    return {
        "entries": done.entries,
        "entries_per_s": done.entries / took_s,
        "file_mib": done.size / 2**20,
        "memory_added_mib": _peak_mib() - before,
    }


def _peak_mib() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _inside(args: argparse.Namespace) -> Any:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    return seed(args.seed) if args.seed else export(args.team, args.form)


if __name__ == "__main__":
    given = _arguments()
    if given.seed or given.form:
        print(json.dumps(_inside(given)))
    else:
        main()
