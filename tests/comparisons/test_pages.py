"""Pages of comparisons, for recorded runs."""

from __future__ import annotations

import pytest

from apps.audit.models import Entry
from apps.comparisons.models import Comparison
from tests.comparisons.conftest import signed_in
from tests.playground import stories
from tests.playground.conftest import record_run

BETTER_A = {"choice": "better-A", "reason": "A is shorter."}


def address(comparison: Comparison, part: str = "") -> str:
    return f"/comparisons/{comparison.id}/{part}"


@pytest.mark.parametrize("part", ["", "body/"])
def test_answers_stand_side_by_side_and_link_to_their_runs(cast, recorded, part):
    comparison = recorded()
    page = signed_in(cast.vera).get(address(comparison, part)).content.decode()
    assert page.count("<strong>Use PostgreSQL</strong>") == 2
    for answer in comparison.answers.all():
        assert f'href="/runs/{answer.run_id}/"' in page


def test_run_links_back(cast, recorded):
    comparison = recorded()
    run_id = comparison.answers.all()[0].run_id
    page = signed_in(cast.bob).get(f"/runs/{run_id}/").content.decode()
    assert f'href="{address(comparison)}"' in page


@pytest.mark.parametrize("part", ["", "body/"])
def test_other_team_gets_404(cast, recorded, part):
    assert signed_in(cast.mallory).get(address(recorded(), part)).status_code == 404


@pytest.mark.parametrize("part", ["vote/", "judge/", "stop/", "answers/A/feedback/"])
def test_other_team_changes_nothing(cast, recorded, part):
    answer = signed_in(cast.mallory).post(address(recorded(), part), BETTER_A)
    assert answer.status_code == 404


def test_vote_is_on_record_with_the_one_before(cast, recorded):
    comparison = recorded()
    bob = signed_in(cast.bob)
    bob.post(address(comparison, "vote/"), BETTER_A)
    bob.post(address(comparison, "vote/"), {"choice": "tie"})
    (vote,) = comparison.votes.all()
    assert (vote.choice, vote.position) == ("tie", None)
    entries = Entry.objects.for_team(cast.team.id).filter(action="comparison.voted")
    assert entries.count() == 2


def test_viewer_may_vote(cast, recorded):
    comparison = recorded()
    signed_in(cast.vera).post(address(comparison, "vote/"), BETTER_A)
    assert comparison.votes.get().actor_name == "Vera"


@pytest.mark.parametrize("choice", ["", "better", "better-C", "tie-A", "best"])
def test_unknown_choice_is_refused(cast, recorded, choice):
    comparison = recorded()
    bob = signed_in(cast.bob)
    page = bob.post(address(comparison, "vote/"), {"choice": choice}, follow=True)
    assert not comparison.votes.exists()
    assert 'class="notice' in page.content.decode()


def test_vote_without_a_choice_is_told_to_choose(cast, recorded):
    place = address(recorded(), "vote/")
    page = signed_in(cast.bob).post(place, {"reason": "Shorter."}, follow=True)
    assert "Choose first: which answer is better" in page.content.decode()
    assert "unknown choice" not in page.content.decode().lower()


def test_vote_waits_for_the_answers(cast):
    from tests.comparisons.conftest import kept_comparison

    runs = [
        record_run(cast.team, stories.finished()),
        record_run(cast.team, stories.parallel(), state="running"),
    ]
    comparison = kept_comparison(cast, runs, is_blind=False)
    signed_in(cast.bob).post(address(comparison, "vote/"), BETTER_A)
    assert not comparison.votes.exists()
