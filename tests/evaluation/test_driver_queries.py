"""What a driver reads while runs go on: requests of its process wait for that."""

from __future__ import annotations

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.evaluation.driver import EvaluationDriver
from apps.evaluation.models import ResultState, StoredTask
from apps.evaluation.selectors import results_of
from tests.conftest import Site
from tests.evaluation.test_driver import slow as slow
from tests.evaluation.test_driver import start
from tests.evaluation.test_spending import claimed
from tests.evaluation.test_spending import undriven as undriven

LOOK = 4
"""Statements of a look at the database that finds nothing new."""


def queries_of_a_look(site: Site, worker: str, runs: int) -> list[str]:
    """Return the statements of a step while so many runs go on."""
    evaluation = claimed(
        start(site, {"kind": "worker", "worker": worker}, parallel_runs=runs)
    )
    started = results_of(evaluation).filter(state=ResultState.STARTED)
    steps = EvaluationDriver(evaluation).steps()
    while started.count() < runs:
        next(steps)
    with CaptureQueriesContext(connection) as queries:
        next(steps)
    return [query["sql"] for query in queries]


def test_a_look_costs_no_more_with_more_runs_in_flight(undriven, slow):
    few = queries_of_a_look(undriven, slow, 1)
    many = queries_of_a_look(undriven, slow, 8)
    assert len(few) == len(many) <= LOOK


def test_a_look_reads_no_task_of_a_run_that_goes_on(undriven, slow):
    read = queries_of_a_look(undriven, slow, 2)
    assert read
    assert not any(StoredTask._meta.db_table in sql for sql in read)
