"""Comparisons of recorded runs: one for the same runs, within the rates of keys."""

from __future__ import annotations

import pytest

from apps.accounts.models import Scope
from apps.comparisons.models import Comparison
from apps.comparisons.selectors import LISTED_OF_RUN, comparisons_of_run
from apps.comparisons.services import comparison_create
from tests.comparisons.conftest import MODELS, signed_in
from tests.factories import ACTOR
from tests.playground import stories
from tests.playground.conftest import record_run
from tests.rest.conftest import keyed, member


@pytest.fixture
def runs(cast):
    return [record_run(cast.team, stories.finished(), model=model) for model in MODELS]


def count(cast) -> int:
    return Comparison.objects.for_team(cast.team.id).count()


def test_the_same_runs_are_kept_once(cast, runs):
    ids = [str(run.id) for run in runs]
    alice = member(cast.alice)
    first = alice.post("comparisons/", {"run_ids": ids})
    again = alice.post("comparisons/", {"run_ids": ids[::-1]})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert count(cast) == 1


def test_second_click_keeps_a_pair_once(cast, runs):
    bob = signed_in(cast.bob)
    place = f"/compare/{runs[0].id}/{runs[1].id}/keep/"
    places = {bob.post(place)["Location"] for _ in range(2)}
    assert len(places) == 1
    assert count(cast) == 1


def test_keeping_runs_counts_towards_the_rates_of_a_key(cast, runs):
    caller = keyed(cast.team, Scope.RUN, Scope.READ, requests_per_minute=1)
    body = {"run_ids": [str(run.id) for run in runs]}
    codes = [caller.post("comparisons/", body).status_code for _ in range(2)]
    assert codes == [201, 429]


def test_page_of_a_run_links_to_its_newest_comparisons(cast, runs, recorded_queries):
    for _ in range(LISTED_OF_RUN + 1):
        other = record_run(cast.team, stories.finished())
        newest = comparison_create(
            team_id=cast.team.id, actor=ACTOR, kept=[runs[0], other]
        )
    with recorded_queries():
        found = comparisons_of_run(cast.team.id, runs[0].id)
        assert all(each.answers.all() for each in found)
    assert len(found) == LISTED_OF_RUN
    assert found[0] == newest
