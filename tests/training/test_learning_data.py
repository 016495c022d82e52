"""What planners learn from: graded runs of the team, as they are on record now."""

from __future__ import annotations

import pytest

from apps.evaluation.models import EvaluationResult
from apps.governance.services import feedback_give, feedback_withdraw, retention_set
from apps.planners.light.logged_runs import StepRole
from apps.runs.models import Run
from apps.training.selectors import (
    LearningTally,
    learning_counts,
    learning_records,
    learning_runs,
)
from tests.evaluation.test_driver import ended, start
from tests.evaluation.test_production_outcomes import asked, judged, rate
from tests.factories import ACTOR, PoolFactory
from tests.governance.conftest import erase, later
from tests.rest.conftest import member
from tests.training.explored import (
    consent,
    credited,
    explored,
    pool_name,
    training_tasks,
)

PLAN, SOLVE, CHECK, COMBINE = StepRole


def records(site):
    return list(learning_records(site.cast.team.id, pool_name(site)))


def digest(site) -> str:
    tally = LearningTally()
    for record in records(site):
        tally.add(record)
    return tally.digest


def sources(site) -> list[tuple[str, float | None]]:
    """Return the source and the last grade of each run."""
    return [(each.graded.source, each.run.steps[-1].grade) for each in records(site)]


def test_an_exploration_gives_each_step_its_role_and_grade(site):
    evaluation = explored(site)
    runs = list(learning_runs(site.cast.team.id, pool_name(site)))
    assert sorted(tuple(step.role for step in run.steps) for run in runs) == sorted(
        [
            (SOLVE,),
            (SOLVE, CHECK),
            (SOLVE, SOLVE, COMBINE),
            (PLAN, SOLVE),
            (PLAN, SOLVE, CHECK),
            (SOLVE, SOLVE, SOLVE, COMBINE),
        ]
    )
    assert [run.prompt for run in runs] == [task["prompt"] for task in training_tasks()]
    states = EvaluationResult.objects.for_team(site.cast.team.id).order_by("place")
    assert [run.steps[-1].grade for run in runs] == [
        float(result.state == "right") for result in states
    ]
    steps = [step for run in runs for step in run.steps]
    assert all((step.grade is None) == (step.role == PLAN) for step in steps)
    assert all(step.input_tokens and step.output_tokens for step in steps)
    assert {step.worker for step in steps} <= {"sim-delta", "sim-birch"}
    assert {run.weight for run in runs} == {1.0}
    assert evaluation.graded == 6


def test_it_is_the_same_each_time_and_its_digest_says_so(site):
    explored(site)
    assert records(site) == records(site)
    before = digest(site)
    assert digest(site) == before
    site.add_worker("echo")
    ended(start(site, tasks=training_tasks(1), split="training"))
    assert digest(site) != before


def test_held_out_tasks_are_left_to_be_measured_on(site):
    ended(start(site))
    assert records(site) == []


def test_a_question_that_speaks_of_a_plan_is_answered_not_planned(site):
    task = {**training_tasks(1)[0], "prompt": "Plan: what is 2 + 2?"}
    ended(start(site, tasks=[task], split="training"))
    (record,) = records(site)
    assert [step.role for step in record.run.steps] == [SOLVE]


def test_the_round_that_answered_counts_alone(site):
    site.set_conductor("scripted-conductor")
    site.add_worker("scripted")

    def block(*said: str) -> str:
        models = [2] * len(said)
        subtasks = [f"[[say {each}]]" for each in said]
        access = [*([[]] * (len(said) - 1)), list(range(len(said) - 1))]
        return (
            f"<<plan\nmodel_id = {models}\nsubtasks = {subtasks}\n"
            f"access_list = {access}>>"
        )

    prompt = f"What? {block('0', '1')} {block('2', '3', '77')}"
    task = {**training_tasks(1)[0], "prompt": prompt}
    tier = {"kind": "tier", "tier": "ultra", "max_rounds": 2}
    ended(start(site, tier, tasks=[task], split="training"))
    (record,) = records(site)
    assert len(record.run.steps) == 3
    assert [step.grade for step in record.run.steps] == [0.0, 0.0, 1.0]


def test_requests_are_learned_from_with_consent_alone(site):
    run = asked(site, f"{pool_name(site)}/worker/sim-birch")
    rate(site, run, "up", "up", "down")
    credited()
    assert sources(site) == []
    consent(site.cast)
    ((source, grade),) = sources(site)
    assert source == "feedback"
    assert grade == pytest.approx(2 / 3)
    consent(site.cast, given=False)
    assert sources(site) == []


def test_a_verdict_counts_before_ratings_and_a_withdrawn_rating_no_more(site):
    consent(site.cast)
    run = asked(site)
    feedback_give(run=run, rating="up", actor=ACTOR)
    credited()
    assert sources(site) == [("feedback", 1.0)]
    judged(site, run, "fail")
    credited()
    assert sources(site) == [("reviewer", 0.0)]
    other = asked(site)
    feedback_give(run=other, rating="up", actor=ACTOR)
    feedback_withdraw(run=other, actor=ACTOR)
    credited()
    assert sources(site) == [("reviewer", 0.0)]


def test_what_a_program_verified_counts_before_ratings_and_after_a_verdict(site):
    """Over REST, as programs report it; every reader of learning data goes on."""
    alice = member(site.cast.alice)
    consent(site.cast)
    run = asked(site)
    at = f"runs/{run.id}/feedback/"
    outcome = {"score": 1.0, "source": "verifier"}
    assert alice.post(at, {"outcome": outcome}).status_code == 200
    credited()
    assert sources(site) == [("client", 1.0)]
    assert alice.get("learning/data/").json()["pools"][0]["runs"] == 1
    assert alice.post(at, {"rating": "down"}).status_code == 200
    credited()
    assert sources(site) == [("client", 1.0)]
    judged(site, run, "fail")
    credited()
    assert sources(site) == [("reviewer", 0.0)]


def test_a_run_that_nobody_judged_teaches_nothing(site):
    consent(site.cast)
    asked(site)
    credited()
    assert sources(site) == []


def test_g13_what_is_erased_is_in_no_data(site):
    explored(site)
    consent(site.cast)
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    credited()
    before = digest(site)
    assert len(records(site)) == 7
    retention_set(team=site.cast.team, days=183, actor=ACTOR)
    assert erase(later(184))
    assert records(site) == []
    assert digest(site) != before
    (pool,) = learning_counts(site.cast.team.id)
    assert (pool.runs, pool.weight) == (0, 0)


def test_g6_no_team_learns_from_another(site):
    explored(site)
    consent(site.cast)
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    credited()
    other = site.cast.other_team
    PoolFactory.create(team=other, name=pool_name(site), base_url=site.simulator_url)
    assert list(learning_runs(other.id, pool_name(site))) == []
    (pool,) = learning_counts(other.id)
    assert pool.runs == 0


def test_another_pool_has_data_of_its_own(site):
    explored(site)
    assert list(learning_runs(site.cast.team.id, "another")) == []


def test_counts_are_those_of_the_data(site):
    explored(site)
    consent(site.cast)
    feedback_give(run=asked(site), rating="up", actor=ACTOR)
    credited()
    (pool,) = learning_counts(site.cast.team.id)
    found = records(site)
    graded = sum(s.grade is not None for each in found for s in each.run.steps)
    assert (pool.runs, pool.graded_steps) == (len(found), graded)
    assert [(c.source, c.family, c.runs) for c in pool.counts] == [
        ("feedback", "", 1),
        ("verifier", "sums", 6),
    ]
    assert pool.missing_runs == 493


def test_a_deleted_evaluations_runs_are_left_out(site):
    evaluation = explored(site)
    evaluation.delete()
    assert Run.objects.for_team(site.cast.team.id).count() == 6
    assert records(site) == []
