"""How numbers read."""

import pytest

from apps.engine.usage import Cost
from apps.web import formats


@pytest.mark.parametrize(
    ("micros", "words"),
    [
        (0, "$0"),
        (99, "<$0.0001"),
        (12_345, "$0.0123"),
        (1_234_567, "$1.2346"),
        (1_234_567_890, "$1,234.57"),
    ],
)
def test_money_has_the_digits_that_matter(micros, words):
    assert formats.money(micros) == words


def test_unknown_cost_is_never_a_number():
    assert formats.cost(Cost(0, has_unknown=True)) == "unknown"


def test_partly_unknown_cost_is_a_lower_bound():
    assert formats.cost(Cost(12_300, has_unknown=True)) == "≥ $0.0123 + unknown"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, "–"),
        (61, "61 ms"),
        (1234, "1.2 s"),
        (59_960, "1 min"),
        (125_000, "2 min 5 s"),
        (7_500_000, "2 h 5 min"),
    ],
)
def test_duration_uses_the_fitting_unit(milliseconds, words):
    assert formats.duration(milliseconds) == words


@pytest.mark.parametrize(
    ("byte_count", "found", "limit"),
    [
        (10, "10 bytes", "10 bytes"),
        (999, "999 bytes", "999 bytes"),
        (1_000_000, "1 MB", "1 MB"),
        (1_000_001, "1.01 MB", "1 MB"),
        (1_080_000, "1.08 MB", "1.08 MB"),
        (65_536, "65.54 kB", "65.53 kB"),
        (1_234_500_000, "1,234.5 MB", "1,234.5 MB"),
    ],
)
def test_size_above_a_limit_never_reads_like_it(byte_count, found, limit):
    assert formats.size(byte_count, rounds_up=True) == found
    assert formats.size(byte_count) == limit
