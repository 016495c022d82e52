"""Exports of whole ledgers with all texts, and of one large run: time and memory.

1,000 and 10,000 runs of nine entries each, six of them with a text, on SQLite. The
large run has rounds of 64 steps; prompt, subtasks, plans, answers and calls of tools
are texts of 10 kB, and each step is sent the answers of two others. Each export runs
in a process of its own: the most memory that it took is compared with what it had when
it began.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from bench.databases import EMBEDDED, child_figures, database
from bench.figures import keep, medians, say
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
STEPS = 64
"""Of each round of a large run."""
ROUNDS = (1, 4, 8)
LETTERS = 10_000
"""Of each text of a large run."""
READ = 2
"""Earlier steps that a step reads."""
BUNDLES = 3
"""How often a large run is exported; the median counts."""
CHANCE = random.Random(7)
WORDS = ["".join(CHANCE.choices("etaoinshrdlu", k=5)) for _ in range(5_000)]
LARGE_RUN = uuid.UUID(int=0x7000_C000 << 64)
MODULE = "bench.ledger_exports"


def main() -> None:
    """Measure every size, and keep the figures."""
    figures = {}
    for runs in SIZES:
        with _fresh_database() as env:
            say(f"ledger exports: seeding {runs:,} runs")
            team_id = child_figures(env, MODULE, "--seed", str(runs))
            for form in ("jsonl", "csv", "bundle"):
                seen = child_figures(env, MODULE, "--form", form, "--team", team_id)
                figures[f"{runs} {form}"] = {"runs": runs, "form": form, **seen}
                say(f"  {form}: {seen}")
    found = {"exports": list(figures.values()), "large_runs": _large_runs()}
    keep("ledger_exports", {**found, "rounds": 1})


def _large_runs() -> list[dict[str, Any]]:
    """Export one run of each size, as a request for its bundle does."""
    figures = []
    for rounds in ROUNDS:
        with _fresh_database() as env:
            team_id = child_figures(env, MODULE, "--seed-rounds", str(rounds))
            seen = [
                child_figures(env, MODULE, "--form", "run", "--team", team_id)
                for _ in range(BUNDLES)
            ]
            figures.append({"run_rounds": rounds, **medians(seen)})
            say(f"  a run of {rounds} rounds: {figures[-1]}")
    return figures


@contextmanager
def _fresh_database() -> Iterator[dict[str, str]]:
    """Give the environment of processes that share a new, empty database."""
    with folder() as path, database(EMBEDDED, path) as env:
        env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
        env |= {"DJANGO_SETTINGS_MODULE": "conductor_site.settings"}
        manage(env, "migrate", "--verbosity", "0")
        yield env


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seed-rounds", type=int, help=argparse.SUPPRESS)
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


def seed_large_run(rounds: int) -> str:
    """Append the entries of one run to the chain of a new team; return its id."""
    from django.db import transaction

    from apps.audit.services import entries_append
    from apps.audit.types import SERVICE, Batch, EntryDraft
    from apps.engine.codec import encode

    team_id = uuid.uuid4()
    records = [encode(event) for event in _events(rounds)]
    drafts = [
        EntryDraft(each.action, "run", LARGE_RUN, SERVICE, each.data, each.bodies)
        for each in records
    ]
    rest = iter(drafts)
    while some := tuple(islice(rest, RUNS_AT_ONCE)):
        with transaction.atomic():
            entries_append(batch=Batch(team_id, some))
    return str(team_id)


def _events(rounds: int) -> Iterator[Any]:
    """Yield the events of a run."""
    from apps.engine import events as ev
    from apps.engine.usage import Usage

    usage = Usage(2_500, 2_500)
    workers = tuple(f"w-{step % 8}" for step in range(STEPS))
    access = tuple(tuple(range(max(0, n - READ), n)) for n in range(STEPS))
    yield ev.RunCreated(_text(), "ultra", "main", 1, "language_model", False, {})
    for number in range(rounds):
        sent = json.dumps([{"role": "user", "content": _text()}])
        subtasks = tuple(_text() for _ in range(STEPS))
        yield ev.PlanRequested(number, 1, sent)
        yield ev.PlanReplied(number, 1, _text(), "stop", "m", usage, 900, 800)
        yield ev.PlanAccepted(
            number, "language_model", workers, access, (), subtasks, ""
        )
        for step, worker in enumerate(workers):
            read = [{"role": "user", "content": _text()} for _ in range(READ + 1)]
            calls = json.dumps([{"name": "search", "arguments": _text()}])
            yield ev.StepStarted(number, step, 1, worker, json.dumps(read))
            yield ev.StepCompleted(
                number, step, 1, worker, _text(), "", "tool_calls", "m", usage, 900,
                800, 90, calls,
            )  # fmt: skip
    yield ev.RunCompleted(_text(), "stop", usage, 900, False, 90_000, 900)


def _text() -> str:
    """Return words by chance, which take as much room as those of people."""
    words = (CHANCE.choice(WORDS) for _ in range(LETTERS // 6))
    return " ".join(words)


def export_run(team_id: uuid.UUID) -> dict[str, Any]:
    """Export the large run as a request does; return its figures."""
    from django.db.models import Sum

    from apps.audit.bundles.export import bundle_create
    from apps.audit.models import Content
    from apps.audit.types import SERVICE

    before, start = _peak_mib(), time.perf_counter()
    cpu_start = time.process_time()
    made = bundle_create(team_id=team_id, run_id=LARGE_RUN, actor=SERVICE)
    texts = Content.objects.for_team(team_id).aggregate(size=Sum("size"))["size"]
    return {
        "texts_mib": texts / 2**20,
        "took_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - cpu_start,
        "entries": made.summary.entries,
        "file_mib": len(made.content) / 2**20,
        "memory_added_mib": _peak_mib() - before,
    }


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
    if args.seed or args.seed_rounds:
        return seed(args.seed) if args.seed else seed_large_run(args.seed_rounds)
    if args.form == "run":
        return export_run(args.team)
    return export(args.team, args.form)


if __name__ == "__main__":
    given = _arguments()
    if given.seed or given.seed_rounds or given.form:
        print(json.dumps(_inside(given)))
    else:
        main()
