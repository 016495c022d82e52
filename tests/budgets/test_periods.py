"""Days and months are those of UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.budgets.periods import period_end, period_start


@pytest.mark.parametrize(
    ("period", "now", "starts_on", "ends"),
    [
        ("day", "2030-01-31T23:59:59.999999+00:00", "2030-01-31", "2030-02-01"),
        ("day", "2030-02-01T00:00:00+00:00", "2030-02-01", "2030-02-02"),
        ("month", "2030-01-31T23:59:59.999999+00:00", "2030-01-01", "2030-02-01"),
        ("month", "2030-02-01T00:00:00+00:00", "2030-02-01", "2030-03-01"),
        ("month", "2028-02-29T12:00:00+00:00", "2028-02-01", "2028-03-01"),
        ("month", "2030-12-31T23:59:59+00:00", "2030-12-01", "2031-01-01"),
        # Already the next year in Kiritimati, still the old one in UTC.
        ("month", "2031-01-01T13:59:59+14:00", "2030-12-01", "2031-01-01"),
        ("day", "2030-01-31T20:00:00-05:00", "2030-02-01", "2030-02-02"),
    ],
)
def test_boundaries(period, now, starts_on, ends):
    start = period_start(period, datetime.fromisoformat(now))
    assert start == date.fromisoformat(starts_on)
    assert period_end(period, start) == datetime.fromisoformat(f"{ends}T00:00:00Z")


def test_one_run_has_no_period():
    assert period_start("run", datetime.now(UTC)) is None


@given(
    st.sampled_from(["day", "month"]),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001
    st.integers(-14, 14),
)
def test_a_moment_lies_in_its_period_and_the_next_begins_where_it_ends(
    period, moment, offset_h
):
    now = moment.replace(tzinfo=timezone(timedelta(hours=offset_h)))
    start = period_start(period, now)
    assert start is not None
    end = period_end(period, start)
    assert datetime.combine(start, datetime.min.time(), UTC) <= now < end
    assert period_start(period, end) == end.date()
