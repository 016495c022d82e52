"""What the largest measurement says of conducting, and on which tasks it shows."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.evaluation.models import StoredTask
from apps.evaluation.reports.headline import headline, report_headline
from apps.evaluation.reports.known_tasks import known_task
from apps.evaluation.reports.report import report_make
from apps.pools.models import PlannerVersion, Pool, TierPlanner
from apps.pools.services import planner_version_use
from tests.evaluation.made_up import STATES, R, W, made_up_evaluation
from tests.factories import ACTOR, PoolFactory, TeamFactory
from tests.training.conducted import add_planner

pytestmark = pytest.mark.django_db
BETTER = ((R,) * 9 + (W,), (W, R, W, W, W, W, W, W, W, R), (W,) * 10)
WORSE = ((W,) * 10, (R,) * 10, (W,) * 10)


@pytest.fixture
def pool(cast) -> Pool:
    return PoolFactory.create(team=cast.team, name="default", is_default=True)


def test_it_counts_what_was_gained_and_lost(cast, pool):
    evaluation = made_up_evaluation(cast.team, states=BETTER)
    found = headline(cast.team.id)
    assert found is not None
    assert found.evaluation_id == evaluation.id
    assert (found.tasks, found.gained, found.lost) == (10, 8, 1)
    assert found.unhelped_percent == 20
    assert found.worker == "sim-delta"
    assert found.conducted.accuracy.value == 0.9
    assert found.single.accuracy.value == 0.2
    assert found.cost_ratio == 3
    assert found.is_better


def test_telling_tasks_are_the_first_of_each_family(cast, pool):
    made_up_evaluation(cast.team, states=BETTER)
    found = headline(cast.team.id)
    assert found is not None
    assert [(each.family, each.prompt) for each in found.telling] == [
        ("sums", "What is 11 * 7 + 0?"),
        ("facts", "What is the capital of France?"),
    ]
    assert set(found.telling[0].workers) == {"sim-delta", "sim-birch"}


def test_tasks_that_do_not_open_only_lack_their_samples(cast, pool):
    evaluation = made_up_evaluation(cast.team, states=BETTER)
    tasks = StoredTask.objects.for_team(cast.team.id)
    tasks.filter(version=evaluation.version).update(sealed=b"\x00")
    found = headline(cast.team.id)
    assert found is not None
    assert (found.gained, found.telling) == (8, ())
    assert known_task(cast.team.id, "What is the capital of France?") is None
    alice = Client()
    alice.force_login(cast.alice)
    assert "70 points" in alice.get("/home/").content.decode()


def test_it_says_that_conducting_is_worse_where_it_is(cast, pool):
    made_up_evaluation(cast.team, states=WORSE)
    found = headline(cast.team.id)
    assert found is not None
    assert (found.gained, found.lost, found.telling) == (0, 10, ())
    assert not found.is_better
    alice = Client()
    alice.force_login(cast.alice)
    page = alice.get("/home/").content.decode()
    assert "100 points less often than the best single model" in page


def test_without_a_measurement_there_is_none(cast, pool):
    assert headline(cast.team.id) is None
    made_up_evaluation(cast.team)
    other = Pool.objects.for_team(cast.team.id).get()
    other.name = "another"
    other.save()
    assert headline(cast.team.id) is None


def test_what_was_measured_before_the_planner_in_use_says_nothing_of_it(cast, pool):
    evaluation = made_up_evaluation(cast.team, states=BETTER)
    add_planner(pool)
    planner_version_use(
        pool=pool, number=1, tiers={"ultra": TierPlanner.LIGHT}, actor=ACTOR
    )
    assert headline(cast.team.id) is None
    version = PlannerVersion.objects.for_team(cast.team.id).get()
    version.gate = {"evaluation": str(evaluation.id)}
    version.save()
    found = headline(cast.team.id)
    assert found is not None
    assert found.evaluation_id == evaluation.id


def test_a_newer_measurement_takes_its_place(cast, pool):
    made_up_evaluation(cast.team, states=BETTER)
    newer = made_up_evaluation(cast.team, states=WORSE)
    found = headline(cast.team.id)
    assert found is not None
    assert found.evaluation_id == newer.id


def test_a_smaller_measurement_does_not_take_the_place_of_a_larger_one(cast, pool):
    larger = made_up_evaluation(cast.team, states=BETTER)
    smaller = made_up_evaluation(cast.team, states=WORSE)
    smaller.total = 15
    smaller.save()
    found = headline(cast.team.id)
    assert found is not None
    assert found.evaluation_id == larger.id
    assert found.measured_at == larger.finished_at


def test_a_look_on_few_tasks_does_not_replace_what_the_version_was_measured_by(
    cast, pool
):
    shipped = made_up_evaluation(cast.team, states=BETTER)
    add_planner(pool)
    planner_version_use(
        pool=pool, number=1, tiers={"ultra": TierPlanner.LIGHT}, actor=ACTOR
    )
    version = PlannerVersion.objects.for_team(cast.team.id).get()
    version.gate = {"evaluation": str(shipped.id)}
    version.save()
    smaller = made_up_evaluation(cast.team, states=WORSE)
    smaller.total = 15
    smaller.save()
    found = headline(cast.team.id)
    assert found is not None
    assert found.evaluation_id == shipped.id


def test_reports_begin_with_it(cast):
    evaluation = made_up_evaluation(cast.team, states=BETTER)
    found = report_headline(report_make(evaluation))
    assert found is not None
    vera = Client()
    vera.force_login(cast.vera)
    page = vera.get(f"/evaluations/{evaluation.id}/").content.decode()
    assert "Conductor is right 70 points more often than the best single model" in page
    assert "at 3.0 times its cost." in page


def test_a_difference_within_chance_is_called_so(cast):
    evaluation = made_up_evaluation(cast.team, states=STATES)
    vera = Client()
    vera.force_login(cast.vera)
    page = vera.get(f"/evaluations/{evaluation.id}/").content.decode()
    assert "may be chance" in page


def test_prompts_of_its_tasks_are_known_whatever_their_white_space(cast, pool):
    made_up_evaluation(cast.team)
    task = known_task(cast.team.id, "  What is the capital\nof France? ")
    assert task is not None
    assert task.verifier.grade("**Paris**").is_right
    assert known_task(cast.team.id, "What is the capital of Peru?") is None
    other = TeamFactory.create()
    assert known_task(other.id, "What is the capital of France?") is None
