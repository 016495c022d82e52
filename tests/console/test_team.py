"""A team as such: its start, its name, its end; the frame of its pages."""

import pytest
from allauth.account.models import EmailAddress

from apps.accounts.models import Role, Team, User
from apps.accounts.services import invitation_create
from tests.conftest import membership
from tests.console.conftest import text_of
from tests.factories import ACTOR, MembershipFactory, TeamFactory

NEW = "/teams/new/"
PAGES = (
    ("/members/", "Members"),
    ("/keys/", "API keys"),
    ("/budgets/", "Budgets"),
    ("/usage/", "Usage"),
    ("/team/settings/", "Team"),
)


@pytest.fixture
def open_site(settings):
    settings.SIGN_UP = "open"


def test_newcomer_is_led_to_a_first_team(stranger, open_site):
    response = stranger.get("/", follow=True)
    assert response.redirect_chain == [(NEW, 302)]
    assert "Create your team" in text_of(response)


def test_newcomer_makes_a_team_and_owns_it(stranger, open_site):
    response = stranger.post(NEW, {"name": "Crew"}, follow=True)
    assert "Crew is ready. You are its owner." in text_of(response)
    team = Team.objects.get(name="Crew")
    assert team.memberships.get().role == Role.OWNER


@pytest.mark.parametrize("name", ["", "   ", "x" * 101])
def test_bad_name_shows_its_error_and_makes_no_team(stranger, open_site, name):
    page = text_of(stranger.post(NEW, {"name": name}))
    assert 'id="id_name_error"' in page
    assert not Team.objects.exists()


def test_new_team_of_a_member_is_the_one_shown_next(alice, cast, open_site):
    response = alice.post(NEW, {"name": "Second"}, follow=True)
    assert "Second" in text_of(response)
    assert "bob@example.org" not in text_of(response)


@pytest.mark.parametrize("sign_up", ["invite", "closed"])
def test_where_people_are_invited_the_newcomer_is_told_whom_to_ask(
    stranger, settings, sign_up
):
    settings.SIGN_UP = sign_up
    page = text_of(stranger.get(NEW))
    assert "newcomer@example.org" in page
    assert "Create team" not in page
    assert stranger.post(NEW, {"name": "Crew"}).status_code == 403
    assert not Team.objects.exists()


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_newcomer_sees_invitations_to_a_confirmed_address_only(
    stranger, cast, is_confirmed
):
    nell = User.objects.get(email="newcomer@example.org")
    EmailAddress.objects.create(user=nell, email=nell.email, verified=is_confirmed)
    invitation_create(team=cast.team, email=nell.email, role="viewer", actor=ACTOR)
    page = text_of(stranger.get(NEW))
    assert ("Orchestra</bdi></strong> invites you as viewer" in page) is is_confirmed


def test_anonymous_signs_in_first(client, db):
    assert client.get(NEW).status_code == 302


def test_form_sent_by_somebody_without_a_team_is_refused(stranger):
    assert stranger.post("/keys/new/", {}).status_code == 403


@pytest.mark.parametrize(("url", "title"), PAGES)
@pytest.mark.parametrize("who", ["alice", "bob", "vera"])
def test_pages_open_for_every_role(request, url, title, who):
    page = text_of(request.getfixturevalue(who).get(url))
    assert 'id="rail"' in page
    assert f'aria-current="page">{title}</a>' in page


def test_owner_renames_the_team(alice, cast, actions):
    alice.post("/team/rename/", {"name": "Ensemble"})
    cast.team.refresh_from_db()
    assert (cast.team.name, cast.team.slug) == ("Ensemble", "orchestra")
    assert "team.updated" in actions()


def test_blank_name_changes_nothing(alice, cast):
    page = text_of(alice.post("/team/rename/", {"name": " "}))
    assert "Give the team a name." in page
    cast.team.refresh_from_db()
    assert cast.team.name == "Orchestra"


@pytest.mark.parametrize("who", ["ada", "bob", "vera"])
@pytest.mark.parametrize("url", ["/team/rename/", "/team/delete/"])
def test_only_owners_rename_and_delete(request, cast, who, url):
    browser = request.getfixturevalue(who)
    assert browser.get(url).status_code == 403
    fields = {"name": "Mine", "confirmation": "orchestra"}
    assert browser.post(url, fields).status_code == 403
    cast.team.refresh_from_db()
    assert cast.team.name == "Orchestra"


def test_admin_is_told_why_the_team_cannot_be_renamed(ada):
    page = text_of(ada.get("/team/settings/"))
    assert "To rename or delete the team, ask an owner of <bdi>Orchestra</bdi>." in page


def test_team_is_not_deleted_without_its_words(alice, cast):
    page = text_of(alice.post("/team/delete/", {"confirmation": "Orchestra!"}))
    assert 'id="id_confirmation_error"' in page
    assert Team.objects.filter(pk=cast.team.pk).exists()


def test_team_is_deleted_when_its_words_are_typed(alice, cast):
    alice.post("/team/delete/", {"confirmation": "orchestra"})
    assert not Team.objects.filter(pk=cast.team.pk).exists()
    assert alice.get("/members/").url == NEW


def test_switcher_leads_to_the_other_team(alice, cast):
    second = TeamFactory.create(name="Zwei")
    MembershipFactory.create(team=second, user=cast.alice, role=Role.VIEWER)
    alice.post("/team/", {"team": str(second.id)})
    page = text_of(alice.get("/members/"))
    assert "bob@example.org" not in page
    assert "Your role “Viewer”" in page
    assert membership(second, cast.alice).role == Role.VIEWER
