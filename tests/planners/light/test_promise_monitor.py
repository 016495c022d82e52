"""A promise is watched answer by answer: kept ones hold, broken ones are noticed."""

from __future__ import annotations

import random

import pytest

from apps.planners.light.live.promise_monitor import (
    ALARM,
    LEAST_PROMISED,
    TOLERANCE,
    PromiseDetector,
)


def answers_up_to_alarm(promised: float, success: float, seed: int, most: int) -> int:
    """Return how many answers a detector takes; `most` if it gives no alarm."""
    chance = random.Random(f"promise {seed}")
    detector = PromiseDetector()
    for count in range(1, most + 1):
        if detector.observe(promised, float(chance.random() < success)):
            return count
    return most


@pytest.mark.parametrize("promised", [0.5, 0.8, 0.95])
def test_a_kept_promise_gives_no_alarm_in_ten_thousand_answers(promised):
    assert answers_up_to_alarm(promised, promised, 0, 10_000) == 10_000


def test_one_short_of_its_promise_by_the_tolerance_gives_few_alarms():
    """The bound holds on its edge as well: of so many answers, one alarm at most."""
    most = int(ALARM / 5)
    lengths = [answers_up_to_alarm(0.8, 0.8 - TOLERANCE, n, most) for n in range(60)]
    assert sum(length < most for length in lengths) <= 60 * most / ALARM


@pytest.mark.parametrize(
    ("success", "most"), [(0.05, 15), (0.3, 30), (0.5, 60), (0.6, 150)]
)
def test_a_broken_promise_is_noticed_soon(success, most):
    lengths = sorted(answers_up_to_alarm(0.9, success, n, 1_000) for n in range(21))
    assert lengths[10] <= most


def test_an_alarm_says_what_was_seen_since_the_promise_held():
    detector = PromiseDetector()
    for _ in range(50):
        assert not detector.observe(0.9, 1.0)
    while not detector.observe(0.9, 0.0):
        pass
    assert detector.right == 0
    assert 5 <= detector.seen <= 15
    assert detector.promised == pytest.approx(0.9 * detector.seen)


def test_answers_of_little_weight_say_less():
    whole, half = PromiseDetector(), PromiseDetector()
    count = 1
    while not whole.observe(0.9, 0.0):
        assert not half.observe(0.9, 0.0, 0.5)
        count += 1
    assert count > 3


def test_who_promises_next_to_nothing_cannot_break_it():
    detector = PromiseDetector()
    for _ in range(1_000):
        assert not detector.observe(TOLERANCE + LEAST_PROMISED - 0.01, 0.0)
