"""The rail of places, by role, and the tabs of the present place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Role
from tests.console.conftest import browser_of, text_of
from tests.factories import MembershipFactory, UserFactory

LINK = re.compile(r'<a href="([^"]*)"( aria-current="page")?>')
TITLE = re.compile(r"</svg><span>([^<]*)</span>")
MOST_OF_A_MEMBER, MOST_OF_AN_OWNER = 5, 12


def part_of(browser: Client, address: str, mark: str) -> str:
    page = text_of(browser.get(address))
    start = page.find(mark)
    return "" if start < 0 else page[start : page.index("</nav>", start)]


def rail_of(browser: Client, address: str) -> str:
    return part_of(browser, address, 'id="rail"')


def tabs_of(browser: Client, address: str) -> str:
    return part_of(browser, address, 'id="place-tabs"')


def links(part: str) -> list[str]:
    return [address for address, _ in LINK.findall(part)]


def current(part: str) -> list[str]:
    return [address for address, mark in LINK.findall(part) if mark]


def test_an_owner_has_twelve_places(alice: Client):
    assert TITLE.findall(rail_of(alice, "/keys/")) == [
        *("Home", "Chat", "Presets", "Runs", "Review", "Models", "Pools", "Quality"),
        *("Usage", "Policy", "Ledger", "Settings"),
    ]


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_members_and_viewers_have_few_places(request: Any, who: str):
    browser = request.getfixturevalue(who)
    titles = TITLE.findall(rail_of(browser, "/runs/"))
    assert titles == ["Chat", "Presets", "Runs", "Team"]
    assert len(titles) <= MOST_OF_A_MEMBER


@pytest.mark.parametrize("role", list(Role))
def test_nobody_has_more_places_than_an_owner(cast: Any, role: str):
    user = UserFactory.create()
    MembershipFactory.create(team=cast.team, user=user, role=role)
    places = links(rail_of(browser_of(user), "/runs/"))
    assert 0 < len(places) <= MOST_OF_AN_OWNER


@pytest.mark.parametrize("who", ["alice", "bob", "vera"])
def test_every_page_of_every_place_opens_with_the_place_and_its_tab_marked(
    request: Any, who: str
):
    browser = request.getfixturevalue(who)
    for place in links(rail_of(browser, "/runs/")):
        pages = links(tabs_of(browser, place)) or [place]
        for address in pages:
            assert browser.get(address).status_code == 200, address
            assert current(rail_of(browser, address)) == [place], address
            if len(pages) > 1:
                assert current(tabs_of(browser, address)) == [address]


@pytest.mark.parametrize("who", ["alice", "bob", "vera"])
def test_pages_of_the_navigation_are_on_record(request: Any, who: str, recorded_value):
    browser = request.getfixturevalue(who)
    places = links(rail_of(browser, "/runs/"))
    recorded_value({place: links(tabs_of(browser, place)) for place in places})


def test_members_are_led_to_nothing_they_may_not_open(bob: Client):
    places = links(rail_of(bob, "/runs/"))
    pages = {address for place in places for address in links(tabs_of(bob, place))}
    assert "/runs/" in pages
    assert not {"/ledger/", "/webhooks/", "/review/"} & {*places, *pages}


@pytest.mark.parametrize("address", ["/account/", "/docs/", "/status/", "/setup/"])
def test_pages_of_no_place_have_the_rail_too(alice: Client, address: str):
    assert len(links(rail_of(alice, address))) == MOST_OF_AN_OWNER


@pytest.mark.parametrize(
    ("short", "first"),
    [
        ("/settings/", "/team/settings/"),
        ("/team/", "/team/settings/"),
        ("/quality/", "/evaluations/"),
    ],
)
def test_the_name_of_a_place_leads_to_its_first_page(
    bob: Client, short: str, first: str
):
    response = bob.get(short, follow=True)
    assert response.redirect_chain[-1][0] == first
    assert response.status_code == 200


def test_pages_call_the_place_of_prompts_chat(bob: Client):
    assert "<title>Chat · Conductor</title>" in text_of(bob.get("/"))
    nothing = text_of(bob.get("/nothing-here/"))
    assert "Go to the start page" in nothing
    assert "playground" not in nothing.partition("<main")[2]
