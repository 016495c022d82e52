"""What is counted when runs change hands."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.ids import new_id
from apps.core.metrics import Counts
from apps.runs.coordination.leases import MAX_DEATHS, leases_sweep, process_open
from apps.runs.execution.executor import get_executor
from apps.runs.models import Process, Run
from apps.runs.services import run_start_detached
from apps.runs.telemetry import metrics
from tests.conftest import Site
from tests.factories import TeamFactory
from tests.runs.conftest import models  # noqa: F401
from tests.runs.starting import on_loop, order
from tests.runs.test_leases import WEB, expire, row
from tests.runs.test_resume import house  # noqa: F401
from tests.runs.test_takeover import begun, finished, quicken, sweep  # noqa: F401


class Growth:
    """How much a counter has grown since a test began."""

    def __init__(self) -> None:
        self._before: dict[str, dict[Any, int]] = {}
        for counts in vars(metrics).values():
            if isinstance(counts, Counts):
                self._before[counts.name] = dict(counts.values)

    def of(self, counts: Counts, *labels: str) -> int:
        return counts.value(*labels) - self._before[counts.name].get(labels, 0)


@pytest.fixture
def growth() -> Growth:
    return Growth()


@pytest.mark.django_db
def test_leases_that_ran_out_and_the_runs_they_held_are_counted(growth: Growth):
    team, lease = TeamFactory.create(), process_open(WEB)
    row(team, lease)
    row(team, lease)
    leases_sweep()
    assert growth.of(metrics.LEASES_EXPIRED) == growth.of(metrics.OWNER_DEATHS) == 0
    expire(lease)
    leases_sweep()
    leases_sweep()
    assert growth.of(metrics.LEASES_EXPIRED) == 1
    assert growth.of(metrics.OWNER_DEATHS) == 2


def test_a_queued_run_begins_where_it_is_claimed(site: Site, growth: Growth, settings):
    settings.BACKGROUND_RUNS = "workers"
    run_id = on_loop(run_start_detached(order(site.cast, "What is 17 * 23 + 4?")))
    assert growth.of(metrics.QUEUED) == 1
    on_loop(get_executor().claim(run_id))
    finished(Run.objects.for_team(site.cast.team.id).get(id=run_id))
    assert growth.of(metrics.CLAIMED, "queue") == 1
    assert growth.of(metrics.CLAIMED, "take_over") == 0
    assert growth.of(metrics.STARTED, "ultra") == 1
    assert growth.of(metrics.ENDED, "ultra", "completed") == 1


def test_a_run_that_is_gone_on_with_does_not_begin_twice(begun, growth):  # noqa: F811
    run = begun()
    on_loop(get_executor().drop_all())
    finished(run)
    quicken(run)
    sweep()
    finished(run)
    assert growth.of(metrics.CLAIMED, "take_over") == 1
    assert growth.of(metrics.STARTED, "ultra") == 1
    assert growth.of(metrics.ENDED, "ultra", "completed") == 1


def test_a_lost_lease_is_counted(site: Site, growth: Growth):
    Process.objects.all().delete()
    on_loop(get_executor().lease_keeper.renew())
    assert growth.of(metrics.LEASES_LOST) == 1


def test_a_run_that_is_given_up_is_counted_as_failed(site: Site, growth: Growth):
    row(site.cast.team, new_id(), deaths=MAX_DEATHS - 1)
    sweep()
    assert growth.of(metrics.ENDED, "unknown", "failed") == 1
    assert growth.of(metrics.FAILURES, "owner_lost") == 1
