"""Evaluations of the simulated benchmark agree with its exact expectations."""

from __future__ import annotations

import math

import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.audit.models import JobState
from apps.evaluation.models import Evaluation, ResultState
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.services import evaluation_start, suite_import
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.tasks import SuiteTask
from apps.pools.pool_file import document_parse
from apps.pools.services import pool_import
from apps.simulator.benchmark.expectations import (
    BenchPlan,
    alone,
    baselines,
    expected_score,
)
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.suite import suite_rows
from apps.simulator.benchmark.workers import BENCH_BY_NAME, ROSTERS
from tests.conftest import Site
from tests.docs.reading import ROOT
from tests.factories import ACTOR
from tests.runs.asking import eventually
from tests.simulator.benchmark.served import Z

POOL = ROSTERS["strong"]
STRONG = POOL[-1].name
WORKERS = [worker.name for worker in POOL]
ALONE = [{"kind": "worker", "worker": name} for name in WORKERS]


@pytest.fixture
def version(site: Site):
    """The suite, and the pool of the file with the models of this test."""
    text = (ROOT / "docs/pools/benchmark.yaml").read_text(encoding="utf-8")
    document = document_parse(
        text.replace("http://127.0.0.1:8100/v1", site.simulator_url)
    )
    pool_import(team=site.cast.team, document=document, actor=ACTOR, environ={})
    tasks = [SuiteTask.model_validate(row) for row in suite_rows(240, 7)]
    return suite_import(
        team=site.cast.team, name="Simulated benchmark", tasks=tasks, actor=ACTOR
    )


def evaluated(site: Site, version, systems, **values) -> Evaluation:
    principal = member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})
    started = evaluation_start(
        version=version,
        values={"pool": "benchmark", "systems": systems, "parallel_runs": 32, **values},
        principal=principal,
        actor=principal.actor,
    )
    rows = evaluation_list(version.team_id).filter(id=started.id)
    assert eventually(lambda: rows.filter(state=JobState.DONE).exists(), 120)
    assert rows.get().outcome == "completed"
    return rows.get()


def assert_as_expected(evaluation: Evaluation, place: int, plans) -> None:
    """The share right is within an interval of 99.9 % around the exact expectation."""
    rows = results_of(evaluation).filter(system=place)
    results = list(rows.values_list("task__family", "state"))
    assert len(results) == 120
    right = sum(state == ResultState.RIGHT for _, state in results)
    shares = [
        expected_score(plans[TaskFamily(family)], TaskFamily(family))
        for family, _ in results
    ]
    half = Z * math.sqrt(sum(share * (1 - share) for share in shares)) + 0.5
    assert abs(right - sum(shares)) <= half


def reference(name: str) -> dict[TaskFamily, BenchPlan]:
    return {family: baselines(family, POOL)[name] for family in TaskFamily}


def test_reference_systems_score_what_is_expected_of_them(site, version):
    trained = evaluated(site, version, ALONE, split="training")
    others = [name for name in WORKERS if name != STRONG]
    compared = evaluated(
        site,
        version,
        [
            {"kind": "worker", "worker": STRONG},
            {"kind": "self_reflection", "worker": STRONG, "turns": 5},
            {
                "kind": "mixture_of_agents",
                "workers": others[:4],
                "aggregator": STRONG,
            },
            {"kind": "worker_per_family", "measured_by": str(trained.id)},
        ],
    )
    for place, worker in enumerate(POOL):
        assert_as_expected(trained, place, dict.fromkeys(TaskFamily, alone(worker)))
    for place, name in enumerate(
        ("best single worker", "self-reflection x 5", "Mixture-of-Agents")
    ):
        assert_as_expected(compared, place, reference(name))
    router = EvaluationSettings.model_validate(compared.settings).systems[3]
    assert router.kind == "worker_per_family"
    chosen = {
        family: alone(BENCH_BY_NAME[router.workers[family.value]])
        for family in TaskFamily
    }
    assert_as_expected(compared, 3, chosen)
