"""Tiers with another conductor or number of rounds are run, or refused."""

from __future__ import annotations

import pytest

from apps.core.errors import InvalidFields, InvalidInput
from apps.engine import events as ev
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import results_of
from apps.pools.models import Tier
from apps.pools.selectors import snapshots_forget
from apps.runs.models import Run
from apps.runs.selectors import order_of, run_events
from tests.conftest import Site
from tests.evaluation.samples import documents
from tests.evaluation.test_driver import ended, start
from tests.factories import ConductorFactory

TASKS = documents()[:2]


def tier(**values: object) -> dict[str, object]:
    return {"kind": "tier", "tier": "ultra", **values}


def runs_of(evaluation) -> list[tuple[Run, ev.RunCreated]]:
    """Return the runs with their first events."""
    runs = Run.objects.for_team(evaluation.team_id)
    found = runs.filter(id__in=results_of(evaluation).values("run_id"))
    events = [(run, run_events(run)[0].event) for run in found]
    return [(run, event) for run, event in events if isinstance(event, ev.RunCreated)]


@pytest.fixture
def other(site: Site) -> str:
    """A conductor of the team that is in no pool, and writes no usable plan."""
    url = site.simulator_url
    model = "sim-conductor-prose"
    ConductorFactory.create(
        team=site.cast.team, name="other", base_url=url, model=model
    )
    return "other"


def test_another_conductor_plans_beside_the_own_one(site: Site, other: str):
    both = tier(), tier(conductor=other)
    evaluation = ended(start(site, *both, tasks=TASKS))
    own, prose = report_make(evaluation).systems
    assert prose.label == "conductor (ultra, planned by other)"
    assert (own.unplanned, prose.unplanned) == (0, 2)
    asked = {order_of(run, created).conductor for run, created in runs_of(evaluation)}
    assert asked == {"", other}


def test_rounds_may_exceed_those_of_the_tier(site: Site):
    Tier.objects.for_team(site.cast.team.id).update(max_rounds=1)
    snapshots_forget(site.cast.team.id)
    evaluation = ended(start(site, tier(max_rounds=3), tasks=TASKS))
    runs = runs_of(evaluation)
    assert len(runs) == 2
    for run, created in runs:
        assert created.limits["max_rounds"] == 3
        assert order_of(run, created).max_rounds == 3


def test_without_rounds_the_fallback_worker_answers_alone(site: Site):
    evaluation = ended(start(site, tier(max_rounds=0), tasks=TASKS))
    (found,) = report_make(evaluation).systems
    assert found.label == "conductor (ultra, 0 rounds)"
    assert (found.steps, found.shares) == (2, {"sim-delta": 1.0})
    assert {created.planner for _, created in runs_of(evaluation)} == {"single_worker"}
    only = ended(start(site, tier(max_rounds=0, workers=["sim-birch"]), tasks=TASKS))
    assert report_make(only).systems[0].shares == {"sim-birch": 1.0}


@pytest.mark.parametrize(
    ("system", "error", "words"),
    [
        (tier(conductor="nobody"), InvalidInput, "no conductor 'nobody'"),
        (tier(conductor="x", max_rounds=0), InvalidFields, "nobody plans"),
        (tier(max_rounds=11), InvalidFields, "less than or equal to 10"),
    ],
)
def test_what_cannot_be_is_refused(site: Site, system, error, words):
    with pytest.raises(error, match=words):
        start(site, system)


def test_a_tier_without_a_conductor_takes_no_other_one(site: Site, other: str):
    Tier.objects.for_team(site.cast.team.id).update(planner="single_worker")
    snapshots_forget(site.cast.team.id)
    with pytest.raises(InvalidInput, match="no conductor is asked"):
        start(site, tier(conductor=other))
