"""Promise T11: no name turns the text of a page around.

A right-to-left override that nothing closes turns what follows it in the same
paragraph: with it in a team's name, the header of every page read backwards. New names
are refused; what is stored from before, or comes from outside, is isolated where it is
shown.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from apps.accounts.models import ApiKey, Role, Team, User
from apps.accounts.services import api_key_issue, invitation_create
from apps.core.errors import InvalidFields
from apps.core.plain_text import is_plain, plain
from apps.pools.models import Credential
from apps.runs.records.projection import title_of
from tests.console.conftest import browser_of
from tests.factories import ACTOR, BASE_URL, PASSWORD

OVERRIDE = "\u202e"
ISOLATED = (
    r"<bdi[^>]*>[^<]*</bdi>|<textarea.*?</textarea>"
    r'|<(\w+)[^>]*dir="auto"[^>]*>[^<]*</\1>'
)
"""Elements whose text turns nothing outside of them around."""
DISRUPTIVE = [
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    *"\x00\x07\x1b",
]
DISRUPTIVE += ["\u2028", "\u2029", "\x85", "\u206f"]
SPELLING = [
    "שלום",
    "نمی\u200cخواهم",
    "👩\u200d🔬",
    "Zoë",
    "王芳",
    "a\u200eb",
    "O\u2019Neil",
]


@pytest.mark.parametrize("character", DISRUPTIVE)
def test_character_that_changes_the_text_around_it_is_known(character: str):
    assert not is_plain(f"a{character}b")
    assert plain(f"a{character}b") == "ab"


@pytest.mark.parametrize("name", SPELLING)
def test_names_in_any_script_are_plain(name: str):
    assert is_plain(name)


def named(name: str) -> dict[str, str]:
    return {"name": name}


def stored_names() -> set[str]:
    return {
        *Team.objects.values_list("name", flat=True),
        *User.objects.values_list("name", flat=True),
        *Credential.objects.across_teams().values_list("name", flat=True),
    }


@pytest.fixture
def alice(cast: Any) -> Client:
    return browser_of(cast.alice)


@pytest.mark.parametrize("character", [OVERRIDE, "\u2067", "\x1b"])
@pytest.mark.parametrize(
    ("url", "fields"),
    [
        ("/team/rename/", named),
        ("/teams/new/", named),
        ("/account/", named),
        (
            "/credentials/new/",
            lambda name: {"name": name, "base_url": BASE_URL, "secret": "sk-1"},
        ),
    ],
)
def test_name_with_such_a_character_is_refused(
    cast: Any, alice: Client, settings: Any, url: str, fields: Any, character: str
):
    settings.SIGN_UP = "open"
    alice.post(url, fields(f"Good{character}name"))
    names = stored_names()
    assert all(map(is_plain, names))
    assert "Goodname" not in names
    alice.post(url, fields("Good name"))
    assert "Good name" in stored_names()


def test_account_page_says_why_a_name_is_refused(cast: Any, alice: Client):
    page = alice.post("/account/", named(f"Ali{OVERRIDE}ce")).content.decode()
    assert "turn the direction of text around" in page


def test_nobody_signs_up_with_such_a_name(cast: Any, settings: Any):
    settings.SIGN_UP = "open"
    values = {"email": "new@example.org", "password1": PASSWORD}
    Client().post("/accounts/signup/", {**values, "name": f"New{OVERRIDE}"})
    assert not User.objects.filter(email="new@example.org").exists()


def test_key_with_such_a_name_is_refused(cast: Any):
    with pytest.raises(InvalidFields):
        api_key_issue(team=cast.team, name=f"CI{OVERRIDE}", actor=ACTOR)


def test_title_of_a_run_holds_no_such_character():
    prompt = f"What\u2028is {OVERRIDE}this\x1b[2J?\nIt is نمی\u200cخواهم"
    assert title_of(prompt) == "What is this[2J? It is نمی\u200cخواهم"


PAGES = [
    "/",
    "/runs/",
    "/members/",
    "/keys/",
    "/budgets/",
    "/usage/",
    "/insights/?group=member",
    "/insights/failures/",
    "/insights/plans/",
    "/pools/",
    "/team/settings/",
    "/policy/",
    "/retention/",
    "/credentials/",
    "/account/",
]


@pytest.mark.parametrize("url", PAGES)
def test_stored_name_is_isolated_wherever_it_is_shown(
    cast: Any, alice: Client, url: str
):
    """As if a name were stored before names were checked."""
    keys = ApiKey.objects.for_team(cast.team.id)
    for rows in (Team.objects.all(), User.objects.all(), keys):
        rows.update(name=f"Evil{OVERRIDE}")
    page = alice.get(url).content.decode()
    assert OVERRIDE in page
    isolated = re.sub(ISOLATED, "", page, flags=re.S)
    values = re.sub(r'(?<= )value="[^"]*"', "", isolated)
    left = [line.strip() for line in values.splitlines() if OVERRIDE in line]
    assert left == []


def test_mail_of_an_invitation_holds_no_such_character(
    cast: Any, django_capture_on_commit_callbacks: Any
):
    Team.objects.filter(pk=cast.team.pk).update(name=f"Evil{OVERRIDE}")
    cast.team.refresh_from_db()
    cast.alice.name = f"Ali{OVERRIDE}ce"
    cast.alice.save()
    with django_capture_on_commit_callbacks(execute=True):
        invitation_create(
            team=cast.team,
            email="new@example.org",
            role=Role.MEMBER,
            actor=ACTOR,
            invited_by=cast.alice,
        )
    (sent,) = mail.outbox
    assert OVERRIDE not in f"{sent.subject}{sent.body}"
