"""The baseline is an estimate; evaluations and shadow tests measured."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.engine.usage import Price
from apps.evaluation.models import EvaluationResult, ResultState
from apps.insights.baseline import baseline_of, reference_of
from apps.insights.measured import measured_by_evaluation, measured_by_shadow_test
from apps.insights.query_report import figures, query_report
from apps.insights.sums import QuerySums
from apps.insights.types import Inquiry
from tests.conftest import Cast
from tests.evaluation.samples import make_evaluation, make_shadow_test
from tests.insights.runs import answered

USED = figures(
    "",
    "All",
    QuerySums(
        runs=12,
        based_runs=10,
        based_asked=1_000,
        based_answered=500,
        based_tokens=6_000,
        based_cost_micros=9_000,
    ),
)
PRICES = {
    "small": Price(1_000_000, 1_000_000),
    "large": Price(2_000_000, 4_000_000),
    "writes dearly": Price(0, 7_000_000),
}


def test_baseline_takes_each_prompt_and_answer_once():
    base = baseline_of(USED, "large", PRICES)
    assert base is not None
    assert (base.runs, base.tokens, base.cost_micros) == (10, 1_500, 4_000)
    assert base.token_ratio == 4
    assert base.cost_ratio == 2.25


def test_reference_is_the_dearest_unless_one_is_chosen():
    assert reference_of(PRICES, "", USED) == "large"
    assert reference_of(PRICES, "small", USED) == "small"
    assert reference_of(PRICES, "gone", USED) == "large"
    assert reference_of({}, "small", USED) == ""


@pytest.mark.parametrize("worker", ["large", ""])
def test_nothing_to_compare_is_no_baseline(worker):
    nothing = figures("", "All", QuerySums(runs=3))
    assert baseline_of(nothing, worker, PRICES) is None
    assert baseline_of(USED, "gone", PRICES) is None


@pytest.mark.django_db
def test_tier_of_an_evaluation_is_beside_its_best_worker(cast: Cast):
    evaluation = make_evaluation(cast.team)
    systems = [
        {"kind": "tier", "tier": "ultra"},
        {"kind": "worker", "worker": "sim-delta"},
        {"kind": "worker", "worker": "sim-alpha"},
    ]
    evaluation.settings = {"pool": "default", "systems": systems}
    evaluation.save()
    results = EvaluationResult.objects.for_team(cast.team.id)
    task = results.get().task
    results.all().delete()
    for system, state, cost in (
        (0, ResultState.RIGHT, 900),
        (1, ResultState.WRONG, 100),
        (2, ResultState.RIGHT, 300),
    ):
        EvaluationResult.objects.create(
            team=cast.team,
            evaluation=evaluation,
            place=system,
            system=system,
            task=task,
            state=state,
            cost_micros=cost,
            tokens=cost,
        )
    found = measured_by_evaluation(cast.team.id)
    assert found is not None
    assert (found.first.name, found.second.name) == (
        "conductor (ultra)",
        "sim-alpha",
    )
    assert found.cost_ratio == 3
    assert found.pairs == 1


@pytest.mark.django_db
def test_evaluation_without_a_tier_measures_nothing_here(cast: Cast):
    make_evaluation(cast.team)
    assert measured_by_evaluation(cast.team.id) is None


@pytest.mark.django_db
def test_sides_of_a_shadow_test_are_compared(cast: Cast):
    test = make_shadow_test(cast.team)
    found = measured_by_shadow_test(cast.team.id)
    assert found is not None
    assert (found.id, found.first.name) == (test.id, "default/mini")
    assert found.cost_ratio == 3
    assert measured_by_shadow_test(cast.other_team.id) is None


@pytest.mark.django_db
def test_runs_of_an_evaluation_have_the_family_of_their_task(cast: Cast):
    make_evaluation(cast.team)
    result = EvaluationResult.objects.for_team(cast.team.id).get()
    now = timezone.now()
    answered(cast, now, id=result.run_id, family="sums", source="evaluation")
    answered(cast, now)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    asked = Inquiry(cast.team.id, midnight, now + timedelta(seconds=1), True)
    rows = {row.label: row.runs for row in query_report(asked, "family").rows}
    assert rows == {result.task.family: 1, "No family": 1}
