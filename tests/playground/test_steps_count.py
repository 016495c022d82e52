"""How many steps are done: the list, the run's page and the REST API say the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module

import pytest
from django.apps import apps as installed
from django.test import Client

from apps.accounts.models import Team
from apps.audit.rows import verify_rows
from apps.engine import events as ev
from apps.runs.models import Run
from tests.playground import stories
from tests.runs.recording import record, told

pytestmark = pytest.mark.django_db

migration = import_module("apps.runs.migrations.0006_steps_done_have_an_answer")
COUNTS = {
    "failed": (1, 2),
    "planned_again": (2, 3),
    "cancelled": (0, 3),
    "rescued": (2, 2),
    "parallel": (0, 3),
}


def said(browser: Client, run: Run) -> dict[str, tuple[int, int] | None]:
    """Return the steps done and planned, by who says so."""
    listed = browser.get("/runs/").content.decode()
    page = browser.get(f"/runs/{run.id}/").content.decode()
    told = browser.get(f"/api/v1/runs/{run.id}/").json()
    found = {
        "list": re.search(r'data-label="Steps">(\d+) of (\d+)<', listed),
        "page": re.search(r'<dd>(\d+)<span class="metrics__of"> of (\d+)<', page),
    }
    counts = {
        name: (int(match[1]), int(match[2])) if match else None
        for name, match in found.items()
    }
    return {**counts, "rest": (told["steps_done"], told["steps_total"])}


@pytest.mark.parametrize("name", COUNTS)
def test_r2_list_page_and_rest_count_the_same_steps(
    bob: Client, team: Team, name: str
) -> None:
    run = record(team, told(stories.ALL[name]))
    assert said(bob, run) == dict.fromkeys(("list", "page", "rest"), COUNTS[name])


def test_r2_a_run_that_came_to_no_plan_counts_no_steps(bob: Client, team: Team) -> None:
    events: Sequence[ev.Event] = told(stories.failed)
    record(team, [events[0], events[-1]])
    assert 'data-label="Steps">–<' in bob.get("/runs/").content.decode()


def test_rows_that_counted_failed_steps_as_done_are_put_right_by_the_migration(
    bob: Client, team: Team
) -> None:
    names = ("failed", "planned_again", "finished")
    runs = [record(team, told(stories.ALL[name])) for name in names]
    for run in runs[:2]:
        _set_done(run, run.steps_done + 1)
    migration.leave_out_failed(installed, None)
    for run in runs:
        now = Run.objects.for_team(team.id).get(id=run.id)
        assert now.steps_done == run.steps_done
    assert verify_rows(team.id).faults == []


def test_the_migration_can_be_taken_back(team: Team) -> None:
    run = record(team, told(stories.failed))
    migration.count_failed(installed, None)
    assert Run.objects.for_team(team.id).get(id=run.id).steps_done == 2


def test_the_migration_leaves_a_row_that_cannot_be_right_as_it_is(team: Team) -> None:
    run = record(team, told(stories.failed))
    _set_done(run, 0)
    migration.leave_out_failed(installed, None)
    (fault,) = verify_rows(team.id).faults
    assert (fault.column, fault.stored, fault.derived) == ("steps_done", "0", "1")


def _set_done(run: Run, count: int) -> None:
    Run.objects.for_team(run.team_id).filter(id=run.id).update(steps_done=count)
