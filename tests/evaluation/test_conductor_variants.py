"""Tiers with another conductor or number of rounds are run, or refused."""

from __future__ import annotations

from uuid import UUID

import pytest

from apps.core.errors import InvalidFields, InvalidInput
from apps.engine import events as ev
from apps.evaluation.models import Evaluation
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import results_of
from apps.pools.models import Conductor, Tier
from apps.pools.selectors import snapshots_forget
from apps.pools.services import conductor_delete
from apps.runs.models import Run
from apps.runs.selectors import access_run, order_of, run_events
from apps.runs.types import RunOrder
from tests.conftest import Site
from tests.console.test_evaluations import signed_in
from tests.evaluation.samples import confirmed, documents, suite
from tests.evaluation.test_driver import ended, start
from tests.factories import ACTOR, ConductorFactory
from tests.patience import eventually
from tests.rest.conftest import member

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


def test_the_page_runs_a_tier_as_it_is_and_with_another_conductor(
    site: Site, other: str
):
    suite(site.cast.team, TASKS)
    page = signed_in(site.cast.alice)
    wanted = {
        "suite": "basics",
        "pool": site.cast.team.pools.get(is_default=True).name,
        "systems": ["conductor:ultra"],
        "worker": "sim-delta",
        "conductor": other,
        "parallel_runs": "8",
        "seed": "0",
    }
    asked = page.post("/evaluations/new/", wanted).content.decode()
    assert "4 runs" in asked
    made = page.post("/evaluations/new/", {**wanted, **confirmed(asked)})
    assert ended(Evaluation.objects.for_team(site.cast.team.id).get()).graded == 4
    report = page.get(made.headers["location"]).content.decode()
    assert "conductor (ultra)" in report
    assert "conductor (ultra, planned by other)" in report


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


def order_on_record(site: Site, run_id: str) -> RunOrder:
    """Return what a run was ordered with, once it has ended."""
    team_id = site.cast.team.id
    assert eventually(lambda: access_run(team_id=team_id, run_id=UUID(run_id)).is_over)
    run = access_run(team_id=team_id, run_id=UUID(run_id))
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    return order_of(run, created)


def test_a_run_that_is_asked_again_repeats_its_system(site: Site, other: str):
    system = tier(conductor=other, max_rounds=3)
    ((run, _),) = runs_of(ended(start(site, system, tasks=TASKS[:1])))
    answer = member(site.cast.alice).post(f"runs/{run.id}/rerun/")
    again = order_on_record(site, answer.json()["id"])
    assert (again.conductor, again.max_rounds) == (other, 3)


def test_a_worker_that_is_asked_the_same_has_nothing_of_the_system(
    site: Site, other: str
):
    system = tier(conductor=other, max_rounds=3)
    ((run, _),) = runs_of(ended(start(site, system, tasks=TASKS[:1])))
    (row,) = Conductor.objects.for_team(site.cast.team.id).filter(name=other)
    conductor_delete(conductor=row, actor=ACTOR)
    answer = signed_in(site.cast.alice).post(
        "/comparisons/start/",
        {"of": str(run.id), "keep": "on", "candidate": ["worker/sim-birch"]},
    )
    assert answer.status_code == 302, answer.content.decode()
    newest = Run.objects.for_team(site.cast.team.id).latest("id")
    again = order_on_record(site, str(newest.id))
    assert (again.model, again.conductor) == ("worker/sim-birch", "")
    assert again.max_rounds is None


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
    with pytest.raises(InvalidInput, match="takes no other conductor; its planner"):
        start(site, tier(conductor=other))
