"""Evaluations of the simulated benchmark agree with its exact expectations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.audit.models import JobState
from apps.evaluation.models import Evaluation, EvaluationResult, ResultState
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.services import evaluation_start, suite_import
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.tasks import SuiteTask
from apps.runs.models import Step
from apps.simulator.benchmark.expectations import (
    BenchPlan,
    alone,
    baselines,
    delegated,
    expected_score,
    sub_pool,
)
from apps.simulator.benchmark.forms import TaskFamily
from apps.simulator.benchmark.suite import suite_rows
from apps.simulator.benchmark.workers import BENCH_BY_NAME, ROSTERS, BenchWorker
from apps.simulator.briefing import BriefingRole
from tests.conftest import Site
from tests.evaluation.samples import pool_of_file
from tests.factories import ACTOR
from tests.patience import WORK_PATIENCE_S, eventually
from tests.simulator.benchmark.served import Z

pytestmark = [pytest.mark.slow, pytest.mark.spread]

HELD_OUT = 120
POOL = ROSTERS["strong"]
STRONG, CHEAP = POOL[-1].name, "bench-language"
SAMPLES = 2
SUBTASKS = {
    BriefingRole.PLAN: "Outline how to answer the question, without the answer itself.",
    BriefingRole.SOLVE: "Answer the question completely.",
    BriefingRole.CHECK: "Examine the answers so far for mistakes and correct them.",
    BriefingRole.COMBINE: "Combine the answers so far into the best one.",
}
Share = Callable[[EvaluationResult], float]
"""The probability that a result is right."""


@pytest.fixture
def version(site: Site):
    """The suite of the benchmark."""
    tasks = [SuiteTask.model_validate(row) for row in suite_rows(2 * HELD_OUT, 7)]
    return suite_import(
        team=site.cast.team, name="Simulated benchmark", tasks=tasks, actor=ACTOR
    )


def imported(site: Site, file: str, workers: Sequence[str] = ()) -> str:
    """Import the pool of a file, with some of its workers; return its name."""
    return pool_of_file(site.cast.team, site.simulator_url, file, workers)


def evaluated(site: Site, version, pool: str, systems, **values) -> Evaluation:
    principal = member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})
    started = evaluation_start(
        version=version,
        values={"pool": pool, "systems": systems, "parallel_runs": 32, **values},
        principal=principal,
        actor=principal.actor,
    )
    rows = evaluation_list(version.team_id).filter(id=started.id)
    assert eventually(
        lambda: rows.filter(state=JobState.DONE).exists(), WORK_PATIENCE_S
    )
    assert rows.get().outcome == "completed"
    return rows.get()


def assert_within(
    evaluation: Evaluation, place: int, share: Share, tasks: int = HELD_OUT
) -> float:
    """The right answers are within an interval of 99.9 % around their expectation.

    Returns the share that is expected of all tasks.
    """
    rows = results_of(evaluation).filter(system=place).select_related("task")
    results = list(rows)
    assert len(results) == tasks
    right = sum(result.state == ResultState.RIGHT for result in results)
    shares = [share(result) for result in results]
    half = Z * math.sqrt(sum(share * (1 - share) for share in shares)) + 0.5
    assert abs(right - sum(shares)) <= half
    return sum(shares) / tasks


def assert_as_expected(
    evaluation: Evaluation, place: int, plans: Mapping[TaskFamily, BenchPlan]
) -> float:
    return assert_within(
        evaluation,
        place,
        lambda result: expected_score(plans[family_of(result)], family_of(result)),
    )


def family_of(result: EvaluationResult) -> TaskFamily:
    return TaskFamily(result.task.family)


def reference(
    name: str, pool: Sequence[BenchWorker] = POOL
) -> dict[TaskFamily, BenchPlan]:
    return {family: baselines(family, pool)[name] for family in TaskFamily}


def single(name: str) -> dict[str, object]:
    return {"kind": "worker", "worker": name}


def given_plans(name: str, pool: Sequence[BenchWorker]) -> dict[str, Any]:
    """Return the system that follows the plans of a baseline."""
    plans = {
        family.value: [
            {
                "worker": step.worker.name,
                "subtask": SUBTASKS[step.role],
                "access": step.access,
            }
            for step in plan
        ]
        for family, plan in reference(name, pool).items()
    }
    others = next(iter(plans.values()))
    return {"kind": "given_plans", "name": name, "plans": plans, "others": others}


def usual(pool: Sequence[BenchWorker]) -> dict[str, dict[str, Any]]:
    """Return the systems of the baselines that need no measurement, by their names."""
    (step,) = reference("best single worker", pool)[TaskFamily.ARITHMETIC]
    best = step.worker.name
    mixed = reference("Mixture-of-Agents", pool)[TaskFamily.ARITHMETIC]
    proposing = [each.worker.name for each in mixed[:-1]]
    return {
        "best single worker": single(best),
        "self-reflection x 5": {
            "kind": "self_reflection",
            "worker": best,
            "turns": 5,
        },
        "Mixture-of-Agents": {
            "kind": "mixture_of_agents",
            "workers": proposing,
            "aggregator": best,
        },
        "oracle": given_plans("oracle", pool),
    }


def routed(evaluation: Evaluation, place: int, round_: int = 0) -> dict[Any, str]:
    """Return who answered each run of a system in a round."""
    run_ids = results_of(evaluation).filter(system=place).values("run_id")
    steps = Step.objects.for_team(evaluation.team_id).filter(run_id__in=run_ids)
    return dict(steps.filter(round=round_).values_list("run_id", "worker"))


def test_strong_roster_scores_what_is_expected(site, version):
    pool = imported(site, "benchmark.yaml")
    singles = [single(worker.name) for worker in POOL]
    samples = {"kind": "samples", "worker": CHEAP, "samples": SAMPLES}
    trained = evaluated(site, version, pool, [*singles, samples], split="training")
    for place, worker in enumerate(POOL):
        assert_as_expected(trained, place, dict.fromkeys(TaskFamily, alone(worker)))
    # An answer with others in sight is one more attempt of the same skill.
    cheap = dict.fromkeys(TaskFamily, alone(BENCH_BY_NAME[CHEAP]))
    assert_as_expected(trained, len(POOL), cheap)

    names, systems = zip(*usual(POOL).items(), strict=True)
    by = {"measured_by": str(trained.id)}
    routers = [
        {"kind": "worker_per_family", **by},
        {"kind": "nearest_neighbors", **by},
        {"kind": "smoothie", **by},
    ]
    compared = evaluated(site, version, pool, [*systems, *routers])
    expected = {
        name: assert_as_expected(compared, place, reference(name))
        for place, name in enumerate(names)
    }
    everyone = fmean(worker.solve[f] for worker in POOL for f in TaskFamily)
    for place in range(len(names), len(names) + len(routers)):
        share = assert_within(compared, place, of_workers(routed(compared, place)))
        assert share > everyone + 0.2
        assert share < expected["oracle"]


def skill(worker: str, result: EvaluationResult) -> float:
    """Return how often a worker is right on a task."""
    return BENCH_BY_NAME[worker].solve[family_of(result)]


def of_workers(workers: Mapping[Any, str]) -> Share:
    """Return the probability that a result is right, given who answered each run."""
    return lambda result: skill(workers[result.run_id], result)


def in_cascade(evaluation: Evaluation) -> Share:
    """Return the probability that a result is right, given who was asked.

    If the strong worker was not, both answers of the cheap one agree: both are right,
    or both are wrong, for a wrong answer repeats the one in sight.
    """
    asked = routed(evaluation, 0, 1)
    assert set(asked.values()) == {STRONG}

    def share(result: EvaluationResult) -> float:
        if result.run_id in asked:
            return skill(STRONG, result)
        right = skill(CHEAP, result)
        return right**2 / (right**2 + (1 - right) ** 2)

    return share


def test_a_cascade_scores_what_is_expected(site, version):
    pool = imported(site, "benchmark.yaml")
    samples = {"kind": "samples", "worker": CHEAP, "samples": SAMPLES}
    some = {"families": ["units", "reversal", "capitals"]}
    both = [samples, single(STRONG)]
    trained = evaluated(site, version, pool, both, split="training", **some)
    by = {"measured_by": str(trained.id)}
    cascade = {"kind": "cascade", "cheap": CHEAP, "strong": STRONG, **by}
    compared = evaluated(site, version, pool, [cascade], **some)
    (system,) = EvaluationSettings.model_validate(compared.settings).systems
    assert system.kind == "cascade"
    assert (system.samples, system.least_agreeing, system.tasks) == (SAMPLES, 1, 60)
    assert_within(compared, 0, in_cascade(compared), tasks=60)


def as_delegated(planner: BenchWorker) -> Share:
    """Return the probability that a result is right if a worker planned it."""

    def share(result: EvaluationResult) -> float:
        family = family_of(result)
        plans = delegated(planner, family, POOL)
        return sum(part * expected_score(plan, family) for part, plan in plans)

    return share


def test_planning_left_to_a_worker_scores_what_is_expected(site, version):
    planners = [BENCH_BY_NAME["bench-planning"], POOL[-1]]
    pool = imported(site, "benchmark.yaml")
    usual_names = ("best single worker", "self-reflection x 5")
    systems = [
        *({"kind": "delegated", "worker": worker.name} for worker in planners),
        *(usual(POOL)[name] for name in usual_names),
    ]
    compared = evaluated(site, version, pool, systems)
    planning, strong = (
        assert_within(compared, place, as_delegated(worker))
        for place, worker in enumerate(planners)
    )
    single_worker, reflection = (
        assert_as_expected(compared, place, reference(name))
        for place, name in enumerate(usual_names, start=2)
    )
    assert planning > strong > reflection > single_worker
    # Every plan of a worker was used: none was replaced by the fallback worker's.
    rounds = Step.objects.for_team(compared.team_id).filter(round__gt=1)
    assert not rounds.exists()
    assert not results_of(compared).filter(is_unplanned=True).exists()


def test_weak_roster_scores_what_is_expected(site, version):
    weak = ROSTERS["weak"]
    pool = imported(site, "benchmark-weak.yaml")
    names, systems = zip(*usual(weak).items(), strict=True)
    compared = evaluated(site, version, pool, systems)
    for place, name in enumerate(names):
        assert_as_expected(compared, place, reference(name, weak))


def test_a_part_of_the_roster_scores_what_is_expected(site, version):
    part = sub_pool(POOL, 3, 0)
    assert len(part) < len(POOL)
    pool = imported(site, "benchmark.yaml", [worker.name for worker in part])
    wanted = usual(part)
    names = ("best single worker", "oracle")
    compared = evaluated(site, version, pool, [wanted[name] for name in names])
    for place, name in enumerate(names):
        assert_as_expected(compared, place, reference(name, part))
