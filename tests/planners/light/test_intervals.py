"""Intervals of promised success: as wide as what was seen leaves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.planners.light.intervals import success_interval
from apps.planners.light.model import SuccessTables
from apps.planners.light.planner import LightPlanner
from apps.planners.light.search import choices, template_success
from apps.planners.light.situation_counts import STRENGTH
from apps.planners.light.templates import ONE, TEMPLATES
from tests.planners.light.builders import asked, model, run, step, worker
from tests.planners.light.test_search import tables


def seen(found: SuccessTables, answers: float) -> SuccessTables:
    return SuccessTables(*(np.full_like(table, answers) for table in found))


@pytest.mark.parametrize("template", TEMPLATES)
@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_success_is_in_the_middle_and_more_answers_narrow_it(template, seed):
    found = tables(4, seed)
    rows, success = choices(template, 4), template_success(template, found)
    place = seed % len(rows)
    widths = []
    for answers in (2_000.0, 20_000.0):
        low, high = success_interval(
            template, list(rows[place]), found, seen(found, answers)
        )
        if low > 0 and high < 1:
            assert (low + high) / 2 == pytest.approx(success[place])
        widths.append(high - low)
    assert 0 < widths[1] < widths[0]


def test_one_worker_has_the_interval_of_its_answers():
    found = tables(3, 1)
    low, high = success_interval(ONE, [2], found, seen(found, 93.0))
    share = found.solve[2]
    spread = np.sqrt(share * (1 - share) / (93 + STRENGTH + 1))
    assert (high - low) / 2 == pytest.approx(1.96 * spread, rel=1e-3)


def test_bounds_stay_within_0_and_1():
    found = SuccessTables(*(np.full_like(t, 0.99) for t in tables(3, 2)))
    for template in TEMPLATES:
        row = list(choices(template, 3)[0])
        low, high = success_interval(template, row, found, seen(found, 0.0))
        assert 0 <= low < high <= 1


def test_an_explanation_says_how_sure_it_is():
    few = model(*[run(step("ada", grade=1))] * 4)
    many = model(*[run(step("ada", grade=1))] * 400)
    widths = []
    for found in (few, many):
        planner = LightPlanner(found, 1)
        ranking = planner.ranking(asked(worker("ada")))
        low, high = ranking.interval(ranking.candidates[0])
        assert low < ranking.candidates[0].success < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 3
