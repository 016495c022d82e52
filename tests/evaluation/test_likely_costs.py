"""What evaluations will probably cost, and the question before they start."""

from __future__ import annotations

import io
import sys

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from apps.evaluation.models import Evaluation
from apps.evaluation.services import evaluation_estimate
from apps.pools.models import WorkerProfile
from tests.conftest import make_pool
from tests.evaluation.made_up import SYSTEMS, made_up_evaluation
from tests.evaluation.samples import command, documents, suite

TIER, DELTA, BIRCH = SYSTEMS
TASKS = 4


@pytest.fixture
def pool(cast, simulator_url) -> str:
    make_pool(cast.team, simulator_url)
    pool = cast.team.pools.get(is_default=True)
    pool.name = "default"
    pool.save()
    return str(pool.name)


def likely(version, pool: str, *systems: dict[str, str]) -> int | None:
    values = {"pool": pool, "systems": list(systems), "max_tasks": TASKS}
    return evaluation_estimate(version=version, values=values).likely_micros


def test_earlier_results_say_what_a_task_costs(cast, pool):
    version = suite(cast.team)
    assert likely(version, pool, TIER, DELTA) is None
    made_up_evaluation(cast.team, version)
    assert likely(version, pool, TIER, DELTA) == TASKS * (3_000 + 1_000)


def test_another_suite_or_pool_says_nothing(cast, pool):
    made_up_evaluation(cast.team, suite(cast.team, name="others"))
    version = suite(cast.team)
    made_up_evaluation(cast.team, version)
    Evaluation.objects.for_team(cast.team.id).filter(version=version).update(
        settings={"pool": "other", "systems": list(SYSTEMS)}
    )
    assert likely(version, pool, DELTA) is None


def test_a_profile_stands_in_for_a_single_worker(cast, pool):
    worker = cast.team.workers.get(name="sim-delta")
    WorkerProfile.objects.create(
        team=cast.team,
        worker=worker,
        family="sums",
        tasks=20,
        right=19,
        tokens=100,
        cost_micros=14_000,
        latency_ms=100,
        suite="basics, version 1",
        evaluation_id=worker.id,
        measured_at=timezone.now(),
        base_url=worker.base_url,
        model=worker.model,
    )
    version = suite(cast.team)
    assert likely(version, pool, DELTA) == TASKS * 700
    assert likely(version, pool, DELTA, BIRCH) is None


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("said", ["n\n", "\n", ""])
def test_a_command_asks_at_a_terminal(cast, pool, monkeypatch, said):
    suite(cast.team)
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    with pytest.raises(CommandError, match="not started"):
        command("evaluate", "basics", "--team=orchestra", "--system=workers")
    assert not Evaluation.objects.for_team(cast.team.id).exists()


@pytest.mark.parametrize(("said", "options"), [("y\n", ()), ("", ("--yes",))])
def test_a_command_starts_when_it_may(cast, pool, monkeypatch, said, options):
    suite(cast.team, documents()[:1])
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    _, err = command(
        "evaluate", "basics", "--team=orchestra", "--system=worker:sim-delta", *options
    )
    assert ("Start?" in err) is bool(said)
    assert Evaluation.objects.for_team(cast.team.id).get().graded == 1
