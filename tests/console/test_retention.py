"""Retention period, and legal holds, on the pages."""

import pytest

from apps.governance.models import LegalHold, Retention
from apps.governance.services import hold_place
from tests.console.conftest import browser_of, text_of
from tests.factories import ACTOR, MembershipFactory, UserFactory
from tests.rest.things import make_run

PAGE, EDIT, NEW = "/retention/", "/retention/edit/", "/holds/new/"


@pytest.fixture
def rita(cast):
    """A reviewer."""
    user = UserFactory.create(email="rita@example.org", name="Rita")
    MembershipFactory.create(team=cast.team, user=user, role="reviewer")
    return browser_of(user)


def test_first_look_says_that_nothing_is_erased(alice):
    page = text_of(alice.get(PAGE))
    assert "No limit" in page
    assert "Set by the site" in page
    assert "Nothing is on hold" in page


def test_owner_sets_the_period_and_is_told_of_the_pause(alice, cast, actions):
    page = text_of(alice.post(EDIT, {"days": "365"}, follow=True))
    assert "The retention period is saved." in page
    assert "365 days" in page
    assert "Erasing pauses" in page
    assert Retention.objects.for_team(cast.team.id).get().days == 365
    assert "retention.updated" in actions()


@pytest.mark.parametrize("days", ["182", "2558", "a year", "-1"])
def test_bad_period_shows_its_error(alice, days):
    page = text_of(alice.post(EDIT, {"days": days}))
    assert 'id="id_days_error"' in page
    assert not Retention.objects.across_teams().exists()


def test_empty_period_is_the_sites(alice, cast, settings):
    settings.RETENTION_DAYS = 730
    alice.post(EDIT, {"days": "365"})
    page = text_of(alice.post(EDIT, {"days": ""}, follow=True))
    assert "730 days" in page
    assert Retention.objects.for_team(cast.team.id).get().days is None


@pytest.mark.parametrize("who", ["ada", "bob", "vera", "rita"])
def test_nobody_but_an_owner_sets_the_period(request, who):
    browser = request.getfixturevalue(who)
    assert EDIT not in text_of(browser.get(PAGE))
    assert browser.post(EDIT, {"days": "365"}).status_code == 403
    assert not Retention.objects.across_teams().exists()


@pytest.mark.parametrize("who", ["alice", "ada", "rita"])
def test_run_is_put_on_hold_from_its_page(request, cast, actions, who):
    browser = request.getfixturevalue(who)
    run_id = make_run(cast)
    assert f"{NEW}?run={run_id}" in text_of(browser.get(f"/runs/{run_id}/"))
    assert str(run_id) in text_of(browser.get(f"{NEW}?run={run_id}"))
    sent = {"run_id": str(run_id), "reason": "Matter 7"}
    page = text_of(browser.post(NEW, sent, follow=True))
    assert "The legal hold is placed." in page
    assert "Matter 7" in page
    assert "On legal hold: <bdi>Matter 7" in text_of(browser.get(f"/runs/{run_id}/"))
    assert "legal_hold.placed" in actions()


def test_hold_is_released_after_asking(alice, cast):
    hold = hold_place(team=cast.team, run_id=None, reason="Matter 7", actor=ACTOR)
    address = f"/holds/{hold.id}/release/"
    asked = text_of(alice.get(address))
    assert "“Matter 7”" in asked
    assert "It covers everything in the team." in asked
    assert LegalHold.objects.for_team(cast.team.id).get().released_at is None
    page = text_of(alice.post(address, follow=True))
    assert "The legal hold is released." in page
    assert "Nothing is on hold" in page
    assert "Released holds" in page
    again = text_of(alice.post(address, follow=True))
    assert "has been released already" in again


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_members_and_viewers_see_holds_and_place_none(request, cast, who):
    browser = request.getfixturevalue(who)
    hold = hold_place(team=cast.team, run_id=None, reason="Matter 7", actor=ACTOR)
    page = text_of(browser.get(PAGE))
    assert "Matter 7" in page
    assert "/release/" not in page
    assert browser.post(NEW, {"reason": "Mine"}).status_code == 403
    assert browser.post(f"/holds/{hold.id}/release/").status_code == 403
    assert NEW not in text_of(browser.get(f"/runs/{make_run(cast)}/"))


def test_hold_of_another_team_does_not_exist(mallory, cast):
    hold = hold_place(team=cast.team, run_id=None, reason="Matter 7", actor=ACTOR)
    assert mallory.post(f"/holds/{hold.id}/release/").status_code == 404
    page = text_of(mallory.post(NEW, {"run_id": str(make_run(cast)), "reason": "Mine"}))
    assert "There is no run" in page
    assert LegalHold.objects.across_teams().count() == 1


def test_team_on_hold_is_not_deleted_and_the_page_says_why(alice, cast):
    hold_place(team=cast.team, run_id=None, reason="Matter 7", actor=ACTOR)
    page = text_of(alice.post("/team/delete/", {"confirmation": cast.team.slug}))
    assert "legal hold" in page
    cast.team.refresh_from_db()
