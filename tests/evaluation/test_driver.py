"""How evaluations go on, end early, and keep to rights, policies and teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.audit.models import JobState
from apps.core.errors import Conflict, InvalidFields, InvalidInput, NotAllowed, NotFound
from apps.evaluation.jobs import evaluation_steps, evaluation_take
from apps.evaluation.models import Evaluation, ResultState, StoredTask
from apps.evaluation.reports.comparison import compare
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import access_evaluation, evaluation_list, results_of
from apps.evaluation.services import evaluation_cancel, evaluation_start, suite_delete
from apps.governance.services import policy_replace
from apps.runs.models import ProcessKind, Run, RunState
from apps.simulator.app import create_app
from tests.conftest import Site, add_worker, membership
from tests.evaluation.samples import documents, entries_of, make_evaluation, suite
from tests.factories import ACTOR
from tests.patience import eventually
from tests.serving import serving

WORKER = {"kind": "worker", "worker": "sim-delta"}


@pytest.fixture
def slow(site: Site) -> Iterator[str]:
    """A worker that takes 300 ms, and one that takes ten minutes."""
    with serving(create_app(), ws="none") as url:
        for name in ("delay-300", "delay-600000"):
            add_worker(site.cast.team, f"{url}/v1", name)
        yield "delay-600000"


def start(
    site: Site,
    *systems: Mapping[str, object],
    tasks: Sequence[dict[str, Any]] | None = None,
    **values: object,
) -> Evaluation:
    """Start an evaluation as alice, who owns the team."""
    cast = site.cast
    principal = member_principal(cast.alice, cast.team, Role.OWNER, {})
    pool = cast.team.pools.get(is_default=True).name
    return evaluation_start(
        version=suite(cast.team, tasks),
        values={"pool": pool, "systems": list(systems or (WORKER,)), **values},
        principal=principal,
        actor=principal.actor,
    )


def ended(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation once a process of the site has ended it."""
    rows = evaluation_list(evaluation.team_id).filter(id=evaluation.id)
    assert eventually(lambda: rows.filter(state=JobState.DONE).exists())
    return rows.get()


def test_runs_are_those_of_the_person_who_started_it(site):
    evaluation = ended(start(site))
    assert evaluation.outcome == "completed"
    runs = Run.objects.for_team(site.cast.team.id)
    assert {(run.user_id, run.source) for run in runs} == {
        (site.cast.alice.id, "evaluation")
    }


def test_members_may_not_start_one(site):
    cast = site.cast
    bob = member_principal(cast.bob, cast.team, Role.MEMBER, {})
    with pytest.raises(NotAllowed):
        evaluation_start(
            version=suite(cast.team),
            values={"pool": "x", "systems": [WORKER]},
            principal=bob,
            actor=bob.actor,
        )


def test_g6_another_team_sees_nothing_of_it(site):
    evaluation = start(site)
    with pytest.raises(NotFound):
        access_evaluation(team_id=site.cast.other_team.id, evaluation_id=evaluation.id)
    ended(evaluation)


def test_cancelling_stops_its_runs(site, slow):
    evaluation = start(site, {"kind": "worker", "worker": slow}, parallel_runs=2)
    started = results_of(evaluation).filter(state=ResultState.STARTED)
    assert eventually(lambda: started.count() == 2)
    assert evaluation_cancel(evaluation=evaluation, actor=ACTOR)
    assert not evaluation_cancel(evaluation=evaluation, actor=ACTOR)
    assert ended(evaluation).outcome == "cancelled"
    runs = Run.objects.for_team(site.cast.team.id)
    assert [run.state for run in runs] == [RunState.CANCELLED] * 2
    assert results_of(evaluation).filter(state=ResultState.WAITING).count() == 8
    assert len(entries_of(site.cast.team, "evaluation.ended")) == 1


def test_it_ends_when_its_starter_leaves_the_team(site, slow):
    worker = {"kind": "worker", "worker": "delay-300"}
    evaluation = start(site, worker, parallel_runs=1)
    graded = results_of(evaluation).filter(state=ResultState.WRONG)
    assert eventually(graded.exists)
    membership(site.cast.team, site.cast.alice).delete()
    found = ended(evaluation)
    assert found.outcome == "failed"
    assert "no longer a member" in found.error
    runs = Run.objects.for_team(site.cast.team.id)
    assert found.cost_micros == sum(runs.values_list("cost_micros", flat=True))
    assert not results_of(found).filter(state=ResultState.STARTED).exists()


def test_a_policy_binds_its_runs_and_names_itself(site):
    rule = {
        "name": "No sums",
        "conditions": {"words": ["capital"]},
        "effect": {"kind": "deny"},
    }
    policy_replace(team=site.cast.team, values={"rules": [rule]}, actor=ACTOR)
    evaluation = ended(start(site))
    (found,) = report_make(evaluation).systems
    assert found.causes == {"policy_denied": 4}
    facts, sums = found.families["facts"], found.families["sums"]
    assert (facts.right, facts.ended, sums.ended) == (0, 4, 6)


def test_a_conductor_that_cannot_plan_is_counted(site):
    site.set_conductor("sim-conductor-prose")
    evaluation = ended(start(site, {"kind": "tier", "tier": "ultra"}))
    (found,) = report_make(evaluation).systems
    assert (found.unplanned, found.rejected_plans) == (10, 30)
    assert found.right > 0


def test_a_worker_that_fails_is_no_wrong_answer(site):
    site.add_worker("error-500")
    evaluation = ended(start(site, {"kind": "worker", "worker": "error-500"}))
    (found,) = report_make(evaluation).systems
    assert (found.failed, found.right) == (10, 0)
    assert sum(found.causes.values()) == 10


def test_a_process_that_stops_gives_it_back(site):
    evaluation = start(site)
    rows = evaluation_list(evaluation.team_id).filter(id=evaluation.id)
    if (steps := evaluation_take(ProcessKind.WEB)) is not None:
        with closing(steps):
            next(steps)
        assert rows.get().state in (JobState.WAITING, JobState.RUNNING)
    assert ended(evaluation).outcome == "completed"
    assert results_of(evaluation).count() == 10


def test_a_process_that_lost_its_claim_writes_nothing(site):
    evaluation = start(site)
    ended(evaluation)
    Evaluation.objects.for_team(evaluation.team_id).filter(id=evaluation.id).update(
        state=JobState.RUNNING, claim_id=None, outcome="", beat_at=timezone.now()
    )
    stale = access_evaluation(team_id=evaluation.team_id, evaluation_id=evaluation.id)
    stale.claim_id = evaluation.id  # of an attempt that was given up
    assert list(evaluation_steps(stale)) == []
    assert len(entries_of(site.cast.team, "evaluation.ended")) == 1


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"systems": []}, InvalidFields),
        ({"systems": [{"kind": "oracle"}]}, InvalidFields),
        ({"systems": [{"kind": "worker", "worker": "nobody"}]}, InvalidInput),
        ({"systems": [WORKER], "parallel_runs": 1_000}, InvalidFields),
        ({"systems": [WORKER], "pool": "elsewhere"}, NotFound),
        ({"systems": [WORKER], "colour": "red"}, InvalidFields),
    ],
)
def test_bad_settings_are_refused(site, values, error):
    cast = site.cast
    principal = member_principal(cast.alice, cast.team, Role.OWNER, {})
    pool = cast.team.pools.get(is_default=True).name
    with pytest.raises(error):
        evaluation_start(
            version=suite(cast.team),
            values={"pool": pool, **values},
            principal=principal,
            actor=principal.actor,
        )
    assert not Evaluation.objects.for_team(cast.team.id).exists()


def test_the_best_worker_of_each_family_comes_from_other_tasks(site):
    tasks = [
        {**task, "split": split, "id": f"{split}-{task['id']}"}
        for split in ("training", "held_out")
        for task in documents()
    ]
    for task in tasks:  # one worker repeats the prompt, so it is right on facts alone
        if task["family"] == "facts":
            task["verifier"] = {"kind": "pattern", "pattern": "^What is"}
    site.add_worker("echo")
    singles = [WORKER, {"kind": "worker", "worker": "echo"}]
    first = ended(start(site, *singles, split="training", tasks=tasks))
    system = {"kind": "worker_per_family", "measured_by": str(first.id)}
    second = ended(start(site, system, tasks=tasks))
    (recorded,) = second.settings["systems"]
    assert recorded["workers"] == {"facts": "echo", "sums": "sim-delta"}
    (found,) = report_make(second).systems
    facts = found.families["facts"]
    assert (facts.right, facts.ended) == (4, 4)
    with pytest.raises(InvalidInput, match="ran the same tasks"):
        start(site, system, split="training", tasks=tasks)
    with pytest.raises(InvalidInput, match="no single worker has been measured"):
        start(
            site,
            {**system, "measured_by": str(second.id)},
            split="training",
            tasks=tasks,
        )


def test_a_suite_goes_with_its_results_and_not_while_it_is_run(site, slow):
    team = site.cast.team
    evaluation = start(site, {"kind": "worker", "worker": slow}, parallel_runs=1)
    found = evaluation.version.suite
    assert eventually(results_of(evaluation).filter(state=ResultState.STARTED).exists)
    with pytest.raises(Conflict, match="has not ended"):
        suite_delete(suite=found, actor=ACTOR)
    evaluation_cancel(evaluation=evaluation, actor=ACTOR)
    ended(evaluation)
    suite_delete(suite=found, actor=ACTOR)
    assert not evaluation_list(team.id).exists()
    assert not StoredTask.objects.for_team(team.id).exists()
    assert Run.objects.for_team(team.id).exists()
    assert len(entries_of(team, "suite.deleted")) == 1


def test_two_evaluations_are_compared_task_by_task(site):
    site.add_worker("echo")
    echo = {"kind": "worker", "worker": "echo"}
    first = ended(start(site, WORKER, echo))
    tasks = documents()
    for task in tasks[:3]:  # the same ids, and another idea of what is right
        task["verifier"] = {"kind": "pattern", "pattern": "^What is"}
    second = ended(start(site, echo, tasks=tasks))
    (found,) = compare(first, second).systems
    assert (found.label, found.tasks) == ("echo", 10)
    assert (found.became_right, found.became_wrong) == (3, 0)
    assert found.difference is not None
    assert found.difference.value == pytest.approx(0.3)
    assert found.difference.low < 0.3 < found.difference.high
    assert {task.task for task in found.changed} == {"sum-0", "sum-1", "sum-2"}
    run_ids = {task.later_run_id for task in found.changed}
    assert Run.objects.for_team(site.cast.team.id).filter(id__in=run_ids).count() == 3
    page = Client()
    page.force_login(site.cast.vera)
    body = page.get(f"/evaluations/{second.id}/comparison/").content.decode()
    assert "3 tasks" in body and "became right" in body
    alone = make_evaluation(site.cast.other_team)
    page.force_login(site.cast.mallory)
    answer = page.get(f"/evaluations/{alone.id}/comparison/?with={first.id}")
    assert "Nothing to compare with" in answer.content.decode()
