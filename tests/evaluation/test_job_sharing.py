"""Web processes leave evaluations and shadow tests to worker processes."""

from __future__ import annotations

import uuid
from contextlib import closing
from datetime import timedelta

import pytest
from django.db.models import F

from apps.audit.models import JobState
from apps.evaluation.job_sharing import LEFT_FOR
from apps.evaluation.jobs import evaluation_take
from apps.evaluation.models import Evaluation
from apps.evaluation.selectors import evaluation_list, results_of
from apps.evaluation.shadow.jobs import shadow_take
from apps.runs.coordination.leases import process_close, process_reopen
from apps.runs.models import Process, ProcessKind
from tests.conftest import Site
from tests.evaluation import test_driver, test_shadow

WEB, WORKER = ProcessKind.WEB, ProcessKind.WORKER


@pytest.fixture
def lease_id(site: Site) -> uuid.UUID:
    """The lease of a worker process that takes nothing in this test."""
    lease_id = process_reopen(WORKER)
    row = Process.objects.filter(id=lease_id)
    row.update(expires_at=F("expires_at") + timedelta(hours=1))
    return lease_id


def test_a_web_process_takes_none_while_there_is_a_worker_process(site, lease_id):
    evaluation = test_driver.start(site)
    test_shadow.start(site)
    assert evaluation_take(WEB) is None
    assert shadow_take(WEB) is None
    assert evaluation_list(evaluation.team_id).get().state == JobState.WAITING


def test_a_worker_process_takes_one_at_once(site, lease_id):
    evaluation = test_driver.start(site)
    steps = evaluation_take(WORKER)
    assert steps is not None
    with closing(steps):
        next(steps)
    assert results_of(evaluation).count() == 10


def test_a_web_process_takes_one_that_has_waited_for_long(site, lease_id):
    evaluation = test_driver.start(site)
    rows = Evaluation.objects.for_team(evaluation.team_id)
    rows.update(beat_at=F("beat_at") - 2 * LEFT_FOR)
    assert test_driver.ended(evaluation).outcome == "completed"


def test_a_web_process_takes_one_when_the_worker_process_is_gone(site, lease_id):
    evaluation = test_driver.start(site)
    process_close(lease_id)
    assert test_driver.ended(evaluation).outcome == "completed"
