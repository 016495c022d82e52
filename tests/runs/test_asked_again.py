"""Asking again what a recorded run was asked: which limits hold the second run."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.selectors import order_of
from apps.runs.types import RunRestrictions
from tests.conftest import Site
from tests.factories import issue_key
from tests.runs.starting import order, run
from tests.runs.test_conversations import access, created_of, on_loop_end

QUESTION = "What is 2 + 2?"
DELTA, BIRCH = "worker/sim-delta", "worker/sim-birch"


@pytest.fixture
def limited(site: Site) -> Run:
    """A run of a key that may use nothing but `DELTA`."""
    workers = ["sim-delta"]
    key = issue_key(site.cast.team, allowed_workers=workers).row
    allowed = {"api_key_id": key.id, "allowed_workers": frozenset(workers)}
    wanted = order(site.cast, QUESTION, model=DELTA, **allowed)
    return access(site, run(wanted).summary.run_id)


@pytest.fixture
def narrowed(site: Site) -> Run:
    """A run whose caller named one worker and three limits."""
    restrictions = RunRestrictions(("sim-delta",), 3, 1, 500_000)
    wanted = order(site.cast, QUESTION, model=DELTA, restrictions=restrictions)
    return access(site, run(wanted).summary.run_id)


def compared(site: Site, first: Run, person: User, worker: str = BIRCH) -> Run:
    """Compare a run with another worker on the page, and return the new run."""
    browser = Client()
    browser.force_login(person)
    fields = {"of": str(first.id), "keep": "on", "candidate": [worker]}
    answer = browser.post("/comparisons/start/", fields)
    assert answer.status_code == 302, answer.content.decode()
    new_id = Run.objects.for_team(site.cast.team.id).latest("id").id
    on_loop_end(site, new_id)
    return access(site, new_id)


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_limits_of_a_key_do_not_hold_who_compares(site, limited, name):
    person = getattr(site.cast, name)
    second = compared(site, limited, person)
    assert (second.state, second.model) == ("completed", BIRCH)
    assert (second.user_id, second.api_key_id) == (person.id, None)
    assert order_of(second, created_of(second)).allowed_workers == frozenset()


def test_workers_that_a_caller_named_do_not_hold_who_compares(site, narrowed):
    second = compared(site, narrowed, site.cast.bob)
    assert (second.state, second.model) == ("completed", BIRCH)


def test_limits_that_a_caller_gave_a_run_stay(site, narrowed):
    second = compared(site, narrowed, site.cast.bob)
    kept = order_of(second, created_of(second)).restrictions
    assert kept == RunRestrictions((), 3, 1, 500_000)
