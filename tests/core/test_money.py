"""Dollars as text and micro-dollars as numbers say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.money import micros_of_usd, usd_text


@given(st.integers(0, 10**15))
def test_money_survives_the_way_to_text_and_back(micros):
    assert micros_of_usd(usd_text(micros)) == micros


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, "0.00"), (1, "0.000001"), (50_000, "0.05"), (-1_500_000, "-1.50")],
)
def test_cents_are_always_shown(micros, text):
    assert usd_text(micros) == text


@pytest.mark.parametrize("text", ["", "NaN", "1e3", "-1", ".5", "1.", "0.0000001", "١"])
def test_what_is_no_plain_sum_is_refused(text):
    assert micros_of_usd(text) is None
