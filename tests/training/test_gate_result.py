"""What a comparison on held-out tasks says of a new version."""

from __future__ import annotations

import random
import statistics

import pytest

from apps.evaluation.reports.statistics import (
    Interval,
    paired_difference,
    tasks_to_find,
)
from apps.training.trainings.gate_result import BETTER, GateResult, gate_result

MARGIN = 0.05
MORE, CHEAPER, UNDECIDED, LESS, UNMEASURED = GateResult


@pytest.mark.parametrize(
    ("low", "high", "cost_ratio", "expected"),
    [
        (0.01, 0.2, 3.0, MORE),
        (0.0, 0.2, 3.0, UNDECIDED),
        (-0.04, 0.1, 0.5, CHEAPER),
        (-0.04, 0.1, 0.51, UNDECIDED),
        (-0.05, 0.1, 0.1, CHEAPER),
        (-0.06, 0.1, 0.1, UNDECIDED),
        (-0.04, -0.01, 0.1, CHEAPER),
        (-0.3, -0.1, 0.1, LESS),
        (-0.01, 0.1, None, UNDECIDED),
    ],
)
def test_a_difference_counts_only_if_its_interval_does(low, high, cost_ratio, expected):
    difference = Interval((low + high) / 2, low, high)
    assert gate_result(difference, cost_ratio, MARGIN) is expected


def test_without_a_rival_there_is_no_result():
    assert gate_result(None, 0.1, MARGIN) is UNMEASURED
    assert UNMEASURED not in BETTER


@pytest.mark.parametrize(("points", "tasks"), [(0.1, 234), (0.2, 57), (0.4, 13)])
def test_so_many_tasks_find_a_difference(points, tasks):
    assert tasks_to_find(points) == tasks


def _share_found(gain: float, tasks: int, chance: random.Random) -> float:
    """Return the share of comparisons that call a version better that gains so much."""
    first, second = (0.3 + gain) / 2, (0.3 - gain) / 2
    results = []
    for _ in range(600):
        drawn = chance.choices(range(4), (0.4, first, second, 0.3), k=tasks)
        counts = [drawn.count(place) for place in range(4)]
        found = paired_difference(*counts)
        results.append(gate_result(found, 1.0, MARGIN) in BETTER)
    return statistics.fmean(results)


def test_equal_versions_seldom_pass_and_a_found_gain_mostly_does():
    chance = random.Random("gate")
    tasks = tasks_to_find(0.1)
    assert _share_found(0.0, tasks, chance) < 0.05
    assert _share_found(0.1, tasks, chance) > 0.75
