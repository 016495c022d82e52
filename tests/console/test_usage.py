"""Usage: sums by day, worker, member and key."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.console.conftest import text_of
from tests.factories import UserFactory
from tests.playground import stories
from tests.playground.conftest import record_run

URL = "/usage/"


@pytest.fixture
def runs(cast):
    """Two runs of today, one of last week; two of them with costs."""
    now = timezone.now()
    for days, micros, user in (
        (0, 1_500_000, "alice"),
        (0, 0, "bob"),
        (8, 250_000, "bob"),
    ):
        record_run(
            cast.team,
            stories.finished(),
            created_at=now - timedelta(days),
            cost_micros=micros,
            prompt_tokens=1000,
            completion_tokens=234,
            user=getattr(cast, user),
        )


def test_team_that_ran_nothing_is_told_what_comes_here(alice, vera):
    assert "No runs in this period" in text_of(alice.get(URL))
    assert "Start a run" in text_of(alice.get(URL))
    assert "Start a run" not in text_of(vera.get(URL))


def test_everybody_in_the_team_sees_the_sums(vera, runs):
    page = text_of(vera.get(URL))
    assert "$1.7500" in page
    assert "3,702" in page


def test_days_become_bars_with_their_figures(alice, runs):
    page = text_of(alice.get(URL))
    assert page.count('class="chart__bar"') == 2
    assert re.search(r"<title>[^<]*: \$1\.5000, 2 runs</title>", page)


def test_members_are_told_apart(alice, runs):
    page = text_of(alice.get(URL))
    members = page[page.index('id="by-member"') :]
    assert re.search(r"Alice</bdi></th>.*?\$1\.5000", members, re.S)
    assert re.search(r"Bob</bdi></th>.*?\$0\.2500", members, re.S)


def test_period_leaves_older_runs_out(alice, runs):
    page = text_of(alice.get(f"{URL}?days=7"))
    assert "$1.7500" not in page
    assert '<option value="7" selected>' in page


def test_period_that_makes_no_sense_is_ignored(alice, runs):
    assert "$1.7500" in text_of(alice.get(f"{URL}?days=bogus"))


def test_unknown_cost_is_never_shown_as_nothing(alice, cast):
    record_run(
        cast.team,
        stories.finished(),
        created_at=timezone.now(),
        has_unknown_cost=True,
    )
    page = text_of(alice.get(URL))
    assert "unknown" in page
    assert "No runs with a known cost" in page


def test_another_team_sees_none_of_it(mallory, runs):
    assert "No runs in this period" in text_of(mallory.get(URL))


def test_anonymous_signs_in_first(client, cast):
    assert client.get(URL).status_code == 302


def test_queries_do_not_grow_with_runs(alice, runs, recorded_queries):
    with recorded_queries():
        alice.get(URL)  # keeps the days that are over
    with recorded_queries():
        alice.get(URL)


def test_long_table_shows_the_dearest_and_the_sum_of_the_others(
    alice, cast, monkeypatch
):
    monkeypatch.setattr("apps.console.views.usage.SHOWN", 2)
    for micros in (500_000, 400_000, 20_000, 10_000):
        record_run(
            cast.team,
            stories.finished(),
            created_at=timezone.now(),
            cost_micros=micros,
            user=UserFactory.create(name=f"Person {micros}"),
        )
    short = text_of(alice.get(URL))
    assert re.search(r"2 others</bdi></th>.*?\$0\.0300", short, re.S)
    assert "Person 400000" in short and "Person 20000" not in short
    whole = text_of(alice.get(f"{URL}?all=1"))
    assert "Person 10000" in whole and "others" not in whole
