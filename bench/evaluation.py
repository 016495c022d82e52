"""Evaluations: what a large report takes, and what direct calls notice of one.

The report is of 160,000 made-up results (20,000 tasks, 8 systems, 320,000 steps) on
SQLite, in a process of its own. Direct calls, one at a time, are made alone and while
the same process drives an evaluation with 32 runs in flight, whose model takes 2 s: in
turn, so each round has an evaluation of its own, which ends by itself.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from bench.databases import EMBEDDED, child_figures, database
from bench.figures import alternate, keep, say
from bench.servers import (
    ROOT,
    Server,
    base_url,
    folder,
    load,
    manage,
    prepare,
    upstream,
    web,
)

TASKS, SYSTEMS, FAMILIES = 20_000, 8, 12
BATCH = 5_000
ROUNDS = 5
SECONDS = 4.0
IN_FLIGHT = 32
IN_TURN_TASKS = 320
"""Of one round's evaluation: it goes on for 20 s at least."""
END_S = 120.0
STEADY_S = 4.0
"""After the first progress of an evaluation, until all its runs are in flight."""
SLOW_POOL = """\
pool: {{name: slow, fallback: slow-a}}
conductor: {{name: planner, base_url: "{url}", model: plan-50}}
workers:
  - {{name: slow-a, base_url: "{url}", model: delay-2000}}
"""
TASK = {"prompt": "What is 17 * 23 + 4?", "verifier": {"kind": "exact", "answer": "x"}}


def main() -> None:
    """Measure, and keep the figures."""
    with folder() as path, database(EMBEDDED, path) as env:
        say(f"report of {TASKS * SYSTEMS:,} results")
        env |= {"CONDUCTOR_VAR_DIR": str(path), "LOG_LEVEL": "ERROR"}
        child_figures(env, "bench.evaluation", "--seed")  # its memory is not measured
        report = child_figures(env, "bench.evaluation", "--measure")
    say(f"direct calls beside {IN_FLIGHT} runs of an evaluation")
    keep(
        "evaluation",
        {
            "results": TASKS * SYSTEMS,
            "report": report,
            "in_flight": IN_FLIGHT,
            "calls": _calls(),
            "rounds": ROUNDS,
        },
    )


# --- direct calls beside an evaluation -----------------------------------------------


def _calls() -> dict[str, Any]:
    with upstream() as model_server, folder() as path:
        env = {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}"}
        key = prepare(env, path, base_url(model_server))
        pool, tasks = path / "slow.yaml", path / "tasks.jsonl"
        pool.write_text(SLOW_POOL.format(url=base_url(model_server)))
        tasks.write_text(
            "".join(
                json.dumps({**TASK, "id": str(n)}) + "\n" for n in range(IN_TURN_TASKS)
            )
        )
        manage(env, "pool_import", str(pool), "--team", "bench")
        manage(env, "suite_import", str(tasks), "--team", "bench", "--name", "bench")
        with web(env, path) as (url, child):
            server = Server(
                "Conductor",
                f"{url}/v1/chat/completions",
                [child.pid],
                {"authorization": f"Bearer {key}"},
                {"instant": "worker/instant"},
            )
            _round(server)  # warms up

            def measure(name: str) -> Any:
                with _evaluation(env) if name == "beside" else nullcontext():
                    return _round(server)

            return alternate(("alone", "beside"), measure, ROUNDS)


def _round(server: Server) -> Any:
    return load(server, "instant", in_flight=1, seconds=SECONDS)


@contextmanager
def _evaluation(env: dict[str, str]) -> Iterator[None]:
    """Let the site drive an evaluation, and wait for its end."""
    command = [sys.executable, "manage.py", "evaluate", "bench", "--team", "bench"]
    options = ["--pool", "slow", "--system", "workers", "--yes"]
    with subprocess.Popen(
        [*command, *options, "--parallel", str(IN_FLIGHT)],
        cwd=ROOT,
        env={**os.environ, **env},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as waiting:
        try:
            assert waiting.stderr is not None
            said = []
            for line in waiting.stderr:
                said.append(line)
                if " results" in line and not line.startswith("0 of"):
                    break
            else:
                raise RuntimeError(f"it ended before it was measured: {said}")
            time.sleep(STEADY_S)
            yield
            if waiting.poll() is not None:
                raise RuntimeError("it ended while it was measured")
            waiting.communicate(timeout=END_S)
        finally:
            waiting.kill()


# --- the report, in children ---------------------------------------------------------


def _set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()


def seed() -> dict[str, int]:
    """Fill the database; return how many results it has."""
    _set_up()
    from django.core.management import call_command

    from bench.seeding import settle

    call_command("migrate", verbosity=0)
    _seed()
    settle()
    return {"results": TASKS * SYSTEMS}


def measure() -> dict[str, float]:
    """Make the report of what is in the database."""
    _set_up()
    from apps.evaluation.models import Evaluation
    from apps.evaluation.reports.report import report_make
    from apps.evaluation.reports.report_formats import report_values
    from apps.evaluation.reports.report_markdown import report_markdown

    evaluation = Evaluation.objects.across_teams().get()
    before, start = _peak_mib(), time.process_time()
    report = report_make(evaluation)
    report_values(report)
    report_markdown(report)
    cpu_s = time.process_time() - start
    if sum(system.ended for system in report.systems) != TASKS * SYSTEMS:
        raise RuntimeError("the report does not have every result")
    return {"cpu_s": cpu_s, "memory_mib": _peak_mib() - before}


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _seed() -> None:
    """Add an evaluation with its results and steps, without runs and prompts."""
    from django.db import connection, transaction
    from django.utils import timezone

    from apps.accounts.services import team_create
    from apps.audit.models import JobState
    from apps.audit.types import Actor
    from apps.evaluation import models

    team = team_create(name="Bench", slug="bench", actor=Actor("service", "b", "b"))
    suite = models.Suite.objects.create(team=team, name="bench")
    version = models.SuiteVersion.objects.create(
        team=team, suite=suite, number=1, digest="0" * 64, task_count=TASKS
    )
    evaluation = models.Evaluation.objects.create(
        team=team,
        version=version,
        settings={
            "pool": "bench",
            "systems": [
                {"kind": "worker", "worker": f"w{number}"} for number in range(SYSTEMS)
            ],
        },
        state=JobState.DONE,
        outcome=models.EvaluationOutcome.COMPLETED,
        requested_by={},
        beat_at=timezone.now(),
    )
    # Steps without runs: what has a run of its own here would only take longer.
    connection.disable_constraint_checking()
    for start in range(0, TASKS, BATCH // SYSTEMS):
        with transaction.atomic():
            _seed_tasks(evaluation, range(start, min(start + BATCH // SYSTEMS, TASKS)))
    connection.enable_constraint_checking()


def _seed_tasks(evaluation: Any, numbers: range) -> None:
    from apps.evaluation.models import EvaluationResult, StoredTask

    team = evaluation.team
    tasks = StoredTask.objects.bulk_create(
        StoredTask(
            team=team,
            version=evaluation.version,
            index=number,
            key=str(number),
            family=f"family {number % FAMILIES}",
            split="held_out",
            sealed=b"",
        )
        for number in numbers
    )
    results = EvaluationResult.objects.bulk_create(
        EvaluationResult(
            team=team,
            evaluation=evaluation,
            place=task.index * SYSTEMS + system,
            system=system,
            task=task,
            state="right" if (task.index * (system + 3)) % 7 < 4 else "wrong",
            steps=2,
            tokens=500,
            cost_micros=700,
            latency_ms=1_000 + task.index % 977,
        )
        for task in tasks
        for system in range(SYSTEMS)
    )
    _seed_steps(team, results)


def _seed_steps(team: Any, results: list[Any]) -> None:
    from apps.runs.models import Step

    Step.objects.bulk_create(
        Step(
            run_id=result.run_id,
            team=team,
            round=0,
            index=index,
            worker=f"w{(result.place + index) % SYSTEMS}",
            state="completed",
            attempts=1,
            prompt_tokens=200,
            completion_tokens=50,
            cost_micros=350,
            latency_ms=500,
        )
        for result in results
        for index in range(2)
    )


if __name__ == "__main__":
    if "--seed" in sys.argv:
        print(json.dumps(seed()))
    elif "--measure" in sys.argv:
        print(json.dumps(measure()))
    else:
        main()
