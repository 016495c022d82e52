"""Where people come to, and what they are told where they may not go."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Role, Scope
from tests.console.conftest import browser_of, text_of
from tests.console.models import words
from tests.factories import MembershipFactory, UserFactory


@pytest.fixture
def rita(cast: Any) -> Client:
    """A reviewer."""
    user = UserFactory.create(email="rita@example.org", name="Rita")
    MembershipFactory.create(team=cast.team, user=user, role=Role.REVIEWER)
    return browser_of(user)


def test_reviewer_lands_on_the_queue(rita: Client):
    """Promise C3: not on a playground whose button does nothing."""
    page = rita.get("/", follow=True)
    assert page.redirect_chain == [("/review/", 302)]
    assert 'href="/playground/"' not in text_of(page)
    assert "Start the first run" not in text_of(page)


def test_others_land_on_the_playground(bob: Client, vera: Client):
    for browser in (bob, vera):
        assert browser.get("/").status_code == 200


def test_administration_says_whose_it_is(alice: Client):
    """Promise C12: a role in a team has nothing to do with it."""
    page = alice.get("/admin/", follow=True)
    assert page.status_code == 403
    text = words(text_of(page))
    assert "The administration is for the operators of this site" in text
    assert "Your role in this team does not allow it" not in text


@pytest.mark.django_db
def test_an_operator_without_a_team_is_offered_the_overview_of_the_site():
    person, operator = UserFactory.create(), UserFactory.create(is_staff=True)
    assert 'href="/admin/"' not in text_of(browser_of(person).get("/", follow=True))
    page = text_of(browser_of(operator).get("/", follow=True))
    assert 'href="/admin/"' in page
    assert "Create team" in page


def test_data_tags_say_that_rules_enforce_them(alice: Client):
    """Promise C4: a tag without a rule restricts nothing."""
    page = words(text_of(alice.get("/workers/new/?provider=openai")))
    where = page.index("Data it may see")
    assert "A tag alone restricts nothing" in page[where : where + 120]


def test_every_scope_is_offered(cast: Any, alice: Client):
    page = text_of(alice.get("/keys/new/"))
    assert [scope for scope in Scope if scope.value not in page] == []
