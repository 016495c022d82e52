"""The cost limit of an evaluation is kept by a running sum, whoever drives it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.audit import jobs as audit_jobs
from apps.audit.jobs import job_claim
from apps.audit.models import JobState
from apps.core.ids import new_id
from apps.evaluation import jobs
from apps.evaluation.driver import EvaluationDriver
from apps.evaluation.jobs import evaluation_steps
from apps.evaluation.models import GRADED, Evaluation, ResultState
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.spending import Spending
from apps.runs.models import Run
from tests.conftest import Site
from tests.evaluation.samples import documents
from tests.evaluation.test_ab import created
from tests.evaluation.test_driver import WORKER, start

LIMIT = 5_000_000


@pytest.fixture
def undriven(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site whose processes leave evaluations to the test."""
    monkeypatch.setattr(jobs, "job_claim", lambda rows: None)
    return site


def claimed(evaluation: Evaluation) -> Evaluation:
    found = job_claim(evaluation_list(evaluation.team_id).filter(id=evaluation.id))
    assert found is not None
    return found


def prepared(evaluation: Evaluation) -> EvaluationDriver:
    """Return the driver of a claimed evaluation whose results are written."""
    driver = EvaluationDriver(evaluation)
    next(driver.steps())
    return driver


def lose_process(evaluation: Evaluation) -> None:
    """Let the last sign of the process that drives it be an old one."""
    rows = evaluation_list(evaluation.team_id).filter(id=evaluation.id)
    rows.update(beat_at=evaluation.beat_at - 2 * audit_jobs.DEAD_AFTER)


def runs_of(evaluation: Evaluation) -> list[Run]:
    ids = results_of(evaluation).values("run_id")
    return list(Run.objects.for_team(evaluation.team_id).filter(id__in=ids))


def sums_read(site: Site, tasks: int) -> int:
    """Return how many statements of an evaluation add up costs."""
    wanted = documents(2 * tasks)[:tasks]
    evaluation = claimed(start(site, WORKER, tasks=wanted, max_cost_micros=LIMIT))
    with CaptureQueriesContext(connection) as queries:
        for _ in evaluation_steps(evaluation):
            pass
    assert results_of(evaluation).filter(state__in=GRADED).count() == tasks
    return sum("SUM(" in query["sql"] for query in queries)


def test_the_sums_that_are_read_do_not_grow_with_the_evaluation(undriven):
    few, many = sums_read(undriven, 2), sums_read(undriven, 12)
    assert few == many > 0


def test_one_who_lost_the_evaluation_sets_nothing_aside(undriven):
    stale = claimed(start(undriven, WORKER, max_cost_micros=LIMIT))
    prepared(stale)
    spending = Spending(stale)
    rows = evaluation_list(stale.team_id).filter(id=stale.id)
    rows.update(claim_id=new_id())
    result = results_of(stale).filter(state=ResultState.WAITING)[0]
    assert not spending.set_aside(result, 1_000)
    assert spending.micros == 0
    assert not results_of(stale).filter(cost_micros__gt=0).exists()


def test_one_who_takes_it_over_knows_what_was_set_aside(undriven):
    first = claimed(start(undriven, WORKER, max_cost_micros=LIMIT))
    prepared(first)
    result = results_of(first).filter(state=ResultState.WAITING)[0]
    assert Spending(first).set_aside(result, 700)
    lose_process(first)
    second = claimed(first)
    assert second.claim_id != first.claim_id
    assert Spending(second).micros == 700


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_turn_ends_if_another_one_has_lost_its_process(
    undriven, monkeypatch, is_lost
):
    monkeypatch.setattr(jobs, "TURN_S", 0.0)
    other = claimed(start(undriven, WORKER))
    if is_lost:
        lose_process(other)
    evaluation = claimed(start(undriven, WORKER))
    for _ in evaluation_steps(evaluation):
        pass
    evaluation.refresh_from_db()
    assert evaluation.state == (JobState.WAITING if is_lost else JobState.DONE)


def test_all_costs_together_never_exceed_the_limit(undriven):
    most: list[int] = []
    limit = 8_700  # a run may cost some 8,400, and costs some 90
    tasks = documents(240)
    evaluation = claimed(start(undriven, WORKER, tasks=tasks, max_cost_micros=limit))
    for _ in evaluation_steps(evaluation):
        rows = results_of(evaluation).values_list("cost_micros", "grading_cost_micros")
        most.append(sum(map(sum, rows)))
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.outcome) == (JobState.DONE, "budget")
    assert 0 < max(most) <= limit
    # Of what a run is held to at the end, a tenth is what it costs on average.
    assert evaluation.graded > 70


def test_a_limit_of_little_more_than_the_costs_is_enough(undriven):
    """The highest price of a run alone is ten times what all of them cost together."""
    limit = 8_700
    evaluation = claimed(start(undriven, WORKER, max_cost_micros=limit))
    for _ in evaluation_steps(evaluation):
        pass
    evaluation.refresh_from_db()
    assert (evaluation.outcome, evaluation.graded) == ("completed", 10)
    assert evaluation.cost_micros < limit / 5


def test_earlier_results_bound_the_runs_of_a_tight_limit(undriven):
    first = claimed(start(undriven, WORKER))
    for _ in evaluation_steps(first):
        pass
    first.refresh_from_db()
    limit = 3 * first.cost_micros  # less than one run may cost
    second = claimed(start(undriven, WORKER, max_cost_micros=limit))
    for _ in evaluation_steps(second):
        pass
    second.refresh_from_db()
    assert second.outcome == "completed"
    assert second.cost_micros <= limit
    caps = [created(run).limits["max_cost_micros"] for run in runs_of(second)]
    assert len(caps) == 10
    assert all(cap is not None and cap < limit for cap in caps)


def test_without_anything_known_a_tight_limit_ends_it_with_the_reason(undriven):
    evaluation = claimed(start(undriven, WORKER, max_cost_micros=2_000))
    for _ in evaluation_steps(evaluation):
        pass
    evaluation.refresh_from_db()
    assert (evaluation.outcome, evaluation.graded) == ("budget", 0)
    assert "the next run may cost" in evaluation.error
