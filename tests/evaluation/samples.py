"""Small suites for tests, which the simulated workers can answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from django.core.management import call_command
from django.utils import timezone

from apps.accounts.models import Team
from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.selectors import entry_list
from apps.core.ids import first_id, new_id
from apps.evaluation.ab.models import ABOutcome
from apps.evaluation.models import (
    ABTest,
    Evaluation,
    EvaluationOutcome,
    EvaluationResult,
    MirroredRun,
    ResultState,
    ShadowTest,
    SuiteVersion,
)
from apps.evaluation.services import suite_import
from apps.evaluation.shadow.models import MirrorState, ShadowOutcome
from apps.evaluation.suites.tasks import SuiteTask
from apps.pools.pool_file import document_parse
from apps.pools.services import pool_import
from tests.factories import ACTOR

POOLS = Path(__file__).parents[2] / "docs/pools"
CAPITALS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Japan": "Tokyo"}


def documents(count: int = 12) -> list[dict[str, Any]]:
    """Return tasks of two families, as a file has them."""
    sums = [
        {
            "id": f"sum-{n}",
            "family": "sums",
            "prompt": f"What is {n + 11} * 7 + {n}?",
            "verifier": {"kind": "numeric", "answer": (n + 11) * 7 + n},
        }
        for n in range(count // 2)
    ]
    facts = [
        {
            "id": f"capital-{n}",
            "family": "facts",
            "prompt": f"What is the capital of {country}?",
            "verifier": {"kind": "exact", "answer": capital},
        }
        for n, (country, capital) in enumerate(CAPITALS.items())
    ]
    return [*sums, *facts]


def lines(tasks: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(task) + "\n" for task in tasks)


def suite(
    team: Team, tasks: Sequence[dict[str, Any]] | None = None, name: str = "basics"
) -> SuiteVersion:
    """Store a suite."""
    return suite_import(
        team=team,
        name=name,
        tasks=[SuiteTask.model_validate(task) for task in tasks or documents()],
        actor=ACTOR,
    )


def pool_of_file(
    team: Team, models_url: str, file: str, workers: Sequence[str] = ()
) -> str:
    """Import a pool of docs/pools, or some of its workers as a pool; return its name.

    `models_url`: of the simulator, with `/v1`.
    """
    text = (POOLS / file).read_text(encoding="utf-8")
    document = yaml.safe_load(text.replace("http://127.0.0.1:8100/v1", models_url))
    if workers:
        by_name = {worker["name"]: worker for worker in document["workers"]}
        document["workers"] = [by_name[name] for name in workers]
        document["pool"] |= {"name": "part", "fallback": workers[0]}
    parsed = document_parse(yaml.safe_dump(document))
    pool_import(team=team, document=parsed, actor=ACTOR, environ={})
    return str(document["pool"]["name"])


def make_evaluation(team: Team, name: str = "basics") -> Evaluation:
    """Add an evaluation that has ended, with one result, and its suite."""
    version = suite(team, name=name)
    system = {"kind": "worker", "worker": "sim-delta"}
    evaluation = Evaluation.objects.create(
        team=team,
        version=version,
        settings={"pool": "default", "systems": [system]},
        state=JobState.DONE,
        outcome=EvaluationOutcome.COMPLETED,
        requested_by=actor_facts(ACTOR),
        beat_at=timezone.now(),
        finished_at=timezone.now(),
        total=1,
        graded=1,
        cost_micros=1_200,
    )
    EvaluationResult.objects.create(
        team=team,
        evaluation=evaluation,
        place=0,
        system=0,
        task=version.tasks.order_by("index")[0],
        state=ResultState.RIGHT,
        cost_micros=1_200,
        latency_ms=300,
    )
    return evaluation


def evaluation_ids(team: Team, name: str = "basics") -> dict[str, Any]:
    """Add an evaluation and a test of each kind; return ids by argument names."""
    evaluation = make_evaluation(team, name)
    return {
        "evaluation_id": evaluation.id,
        "other_evaluation_id": make_repetition(evaluation).id,
        "suite_id": evaluation.version.suite.id,
        "test_id": make_shadow_test(team, name).id,
        "ab_test_id": make_ab_test(team, name).id,
    }


def make_repetition(evaluation: Evaluation) -> Evaluation:
    """Add an evaluation with the settings of another one, and no results."""
    again = Evaluation.objects.for_team(evaluation.team_id).get(id=evaluation.id)
    again.id = new_id()
    again.save(force_insert=True)
    return again


def make_ab_test(team: Team, name: str = "basics") -> ABTest:
    """Add an A/B test that has ended."""
    now = timezone.now()
    return ABTest.objects.create(
        team=team,
        name=name,
        settings={
            "name": name,
            "pool": "default",
            "tier": "mini",
            "candidate": {"kind": "worker", "worker": "sim-delta"},
        },
        pool="default",
        tier="mini",
        until=now,
        outcome=ABOutcome.STOPPED,
        requested_by=actor_facts(ACTOR),
        finished_at=now,
    )


def make_shadow_test(team: Team, name: str = "basics") -> ShadowTest:
    """Add a shadow test that has ended, with one pair."""
    now = timezone.now()
    test = ShadowTest.objects.create(
        team=team,
        name=name,
        settings={
            "name": name,
            "pool": "default",
            "tier": "mini",
            "candidate": {"kind": "worker", "worker": "sim-delta"},
            "max_cost_micros": 1_000_000,
        },
        since=now,
        until=now,
        looked_until=first_id(now),
        state=JobState.DONE,
        outcome=ShadowOutcome.COMPLETED,
        requested_by=actor_facts(ACTOR),
        beat_at=now,
        finished_at=now,
    )
    pairs_add(test, 1)
    return test


def pairs_add(test: ShadowTest, count: int, **values: Any) -> None:
    """Add pairs to a shadow test, whose sides agree unless `values` say otherwise."""
    usual = {
        "state": MirrorState.DONE,
        "agrees": True,
        "original_cost_micros": 1_200,
        "cost_micros": 400,
        "original_latency_ms": 900,
        "latency_ms": 300,
    }
    for _ in range(count):
        MirroredRun.objects.create(
            team=test.team,
            test=test,
            original_run_id=new_id(),
            **{**usual, **values},
        )


def command(*arguments: Any) -> tuple[str, str]:
    """Run a command of manage.py; return what it printed, and its messages."""
    out, err = StringIO(), StringIO()
    call_command(*[str(argument) for argument in arguments], stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def written(path: Path, tasks: Sequence[dict[str, Any]]) -> Path:
    path.write_text(lines(tasks))
    return path


def confirmed(page: str) -> dict[str, str]:
    """Return what the form of a page sends that has shown an estimate."""
    found = re.search(r'name="confirmed" value="(\w+)"', page)
    assert found is not None
    return {"confirmed": found[1]}


def newest(team: Team) -> Evaluation:
    return Evaluation.objects.for_team(team.id).latest("id")


def entries_of(team: Team, action: str) -> list[dict[str, Any]]:
    """Return the facts of a team's entries of one action."""
    entries = entry_list(team.id, limit=100_000)
    return [dict(entry.data) for entry in entries if entry.action == action]
