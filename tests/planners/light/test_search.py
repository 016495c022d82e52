"""The search over plans, against sums over every outcome by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine.plan import validate
from apps.planners.light.logged_runs import StepRole
from apps.planners.light.model import SuccessTables
from apps.planners.light.search import (
    MAX_WORKERS,
    Abilities,
    best_candidates,
    choices,
    most_useful,
    template_success,
)
from apps.planners.light.templates import TEMPLATES, Template, template_plan
from apps.planners.light.token_costs import ROLES, Prices, TokenModel, template_costs

NAMES = tuple("abcdefgh")


def tables(n: int, seed: int) -> SuccessTables:
    """Return chances that are all different."""
    chance = np.random.default_rng(seed)
    sizes = ((n,), (n, n), (2, 2, n, n), (3, n), (4, n))
    return SuccessTables(*(chance.uniform(0.05, 0.95, size) for size in sizes))


def by_hand(template: Template, workers: Sequence[int], found: SuccessTables) -> float:
    """Sum over right and wrong of every answer."""

    def share(place: int, done: tuple[bool | None, ...]) -> float:
        """Return the success of one step after those before it."""
        step, worker = template[place], workers[place]
        drafts = [at for at in step.access if template[at].role is not StepRole.PLAN]
        plans = [at for at in step.access if template[at].role is StepRole.PLAN]
        if step.role is StepRole.CHECK:
            draft = drafts[-1]
            right = int(bool(done[draft]))
            return float(found.check[len(plans), right, workers[draft], worker])
        if step.role is StepRole.COMBINE:
            table = found.combine_two if len(drafts) == 2 else found.combine_three
            return float(table[sum(bool(done[at]) for at in drafts), worker])
        if plans:
            return float(found.guided[workers[plans[0]], worker])
        return float(found.solve[worker])

    def right(place: int, done: tuple[bool | None, ...]) -> float:
        if place == len(template):
            return float(bool(done[-1]))
        if template[place].role is StepRole.PLAN:
            return right(place + 1, (*done, None))
        chance = share(place, done)
        return chance * right(place + 1, (*done, True)) + (1 - chance) * right(
            place + 1, (*done, False)
        )

    return right(0, ())


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("n", [3, 4])
def test_success_is_the_sum_over_all_outcomes(template, n):
    found = tables(n, seed=n)
    expected = [by_hand(template, row, found) for row in choices(template, n)]
    assert template_success(template, found) == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    ("template", "count"),
    list(zip(TEMPLATES, [4, 6 * 4, 16, 16, 64, 4 * 4], strict=True)),
)
def test_each_way_to_give_workers_comes_once(template, count):
    rows = [tuple(row) for row in choices(template, 4).tolist()]
    assert len(rows) == len(set(rows)) == count


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_workers_for_a_combination_make_none(n):
    for template in TEMPLATES:
        found = template_success(template, tables(n, 0))
        assert len(found) == len(choices(template, n))


def costs(n: int, prices: Sequence[float]) -> tuple[TokenModel, Prices]:
    model = TokenModel(np.full((len(ROLES), n), 100.0), np.zeros(len(ROLES)))
    return model, Prices(np.array(prices, float), np.array(prices, float))


def best(found: SuccessTables, n: int, *, prices=None, able=None, last=None, **more):
    given = Abilities(
        np.array(able or [True] * n), np.array(last or able or [True] * n)
    )
    options = {"max_steps": 5, "worth_micros": 7_500.0, "count": 16} | more
    return best_candidates(
        found, costs(n, prices or [1e6] * n), given, prompt_tokens=50, **options
    )


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 6),
    seed=st.integers(0, 1_000),
    max_steps=st.integers(1, 5),
    data=st.data(),
)
def test_every_candidate_is_a_valid_plan_of_able_workers(n, seed, max_steps, data):
    able = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    last = [a and data.draw(st.booleans()) for a in able]
    found = best(tables(n, seed), n, able=able, last=last, max_steps=max_steps)
    assert bool(found) == any(last)
    for each in found:
        plan = template_plan(each.template, [NAMES[w] for w in each.workers])
        validate(plan, workers=NAMES[:n], max_steps=max_steps)
        assert all(able[w] for w in each.workers) and last[each.workers[-1]]
    assert [each.value for each in found] == sorted(
        (each.value for each in found), reverse=True
    )


@settings(deadline=None, max_examples=40)
@given(order=st.permutations(range(5)), seed=st.integers(0, 1_000))
def test_the_order_of_workers_changes_no_plan(order, seed):
    found = tables(5, seed)
    prices = [1e6, 2e6, 3e6, 5e6, 7e6]
    plain = best(found, 5, prices=prices)[0]
    other = best(found.among(order), 5, prices=[prices[at] for at in order])[0]
    assert other.value == pytest.approx(plain.value)
    assert other.template == plain.template
    same = [order[at] for at in other.workers]
    if plain.template[-1].role is StepRole.COMBINE:
        assert sorted(same[:-1]) == sorted(plain.workers[:-1])
        assert same[-1] == plain.workers[-1]
    else:
        assert tuple(same) == plain.workers


def test_the_best_plan_is_the_best_of_all():
    found = tables(4, seed=3)
    everything = (
        by_hand(template, row, found)
        for template in TEMPLATES
        for row in choices(template, 4)
    )
    assert best(found, 4, worth_micros=math.inf)[0].success == pytest.approx(
        max(everything)
    )


def test_of_equal_plans_the_shorter_one_is_chosen():
    same = SuccessTables(
        np.full(2, 0.5),
        np.full((2, 2), 0.5),
        np.full((2, 2, 2, 2), 0.5),
        np.full((3, 2), 0.5),
        np.full((4, 2), 0.5),
    )
    assert len(best(same, 2, worth_micros=math.inf)[0].workers) == 1


def test_a_dear_worker_has_to_be_worth_its_cost():
    found = tables(2, 0)._replace(solve=np.array([0.60, 0.61]))
    prices = [1e6, 10e6]
    chosen = [
        best(found, 2, prices=prices, max_steps=1, worth_micros=worth)[0].workers
        for worth in (math.inf, 75_000.0)
    ]
    assert chosen == [(1,), (0,)]


def test_a_dearer_worker_is_left_and_the_others_stay_as_dear_as_they_were():
    """What a right answer is worth does not move with the price of one worker."""
    found = tables(3, 0)._replace(solve=np.array([0.90, 0.88, 0.60]))
    before, after = (
        best(found, 3, prices=prices, max_steps=1, worth_micros=100_000.0)
        for prices in ([1e6, 1e6, 1e4], [50e6, 1e6, 1e4])
    )
    assert [each.workers for each in before] == [(0,), (1,), (2,)]
    assert [each.workers for each in after] == [(1,), (0,), (2,)]
    assert after[0] == before[1] and after[2] == before[2]


def test_plans_for_nothing_cost_nothing():
    found = tables(2, 0)
    free = best(found, 2, prices=[0.0, 0.0])[0]
    assert free.cost_micros == 0 and free.value == free.success


def test_a_plan_costs_what_its_steps_read_and_write():
    template = TEMPLATES[2]  # an answer and a check that reads it
    tokens = TokenModel(
        np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0]]),
        np.array([1.0, 2.0, 3.0, 4.0]),
    )
    prices = Prices(np.array([1e6, 2e6]), np.array([3e6, 5e6]))
    draft = [ROLES.index(StepRole.SOLVE), 0]
    check = [ROLES.index(StepRole.CHECK), 1]
    first = tokens.outputs[tuple(draft)]
    expected = (
        (100 + tokens.overhead[draft[0]]) * 1
        + first * 3
        + (100 + tokens.overhead[check[0]] + first) * 2
        + tokens.outputs[tuple(check)] * 5
    )
    found = template_costs(template, np.array([[0, 1]]), tokens, prices, 100)
    assert found == pytest.approx([expected])


def test_of_many_workers_those_stay_that_are_best_at_something():
    n = MAX_WORKERS + 8
    found = tables(n, 5)
    kept = most_useful(found, range(n))
    assert len(kept) == MAX_WORKERS and kept == sorted(kept)
    assert int(np.argmax(found.solve)) in kept
    assert int(np.argmax(found.check[0, 0].mean(axis=0))) in kept
    assert most_useful(found, [3, 1]) == [3, 1]


def test_tables_of_some_workers_are_those_of_all():
    found = tables(5, 1)
    some = found.among([4, 2])
    for first, second in itertools.product(range(2), repeat=2):
        at, other = [4, 2][first], [4, 2][second]
        assert some.guided[first, second] == found.guided[at, other]
        assert (some.check[:, :, first, second] == found.check[:, :, at, other]).all()
