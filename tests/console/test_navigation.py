"""The side navigation: groups of pages, by role, with the current page marked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tests.console.conftest import text_of

CURRENT = re.compile(r'<a href="([^"]*)" aria-current="page"><svg')
LINKS = re.compile(r'<li><a href="([^"]*)"')


def side_of(browser: Client, address: str) -> str:
    page = text_of(browser.get(address))
    return page[
        page.index('id="sidenav"') : page.index("</nav>", page.index("sidenav"))
    ]


def test_pages_are_in_groups(alice: Client):
    titles = re.findall('sidenav__title" id="[^"]*">([^<]*)', side_of(alice, "/keys/"))
    assert titles == ["Work", "Models", "People", "Money", "Governance"]


@pytest.mark.parametrize("who", ["alice", "bob", "vera"])
def test_every_page_of_the_navigation_opens_and_is_marked(request: Any, who: str):
    browser = request.getfixturevalue(who)
    for address in LINKS.findall(side_of(browser, "/keys/")):
        answer = browser.get(address)
        assert answer.status_code == 200, address
        if 'id="sidenav"' in text_of(answer):
            assert CURRENT.findall(side_of(browser, address)) == [address]


@pytest.mark.parametrize("who", ["alice", "bob", "vera"])
def test_pages_of_the_navigation_are_on_record(request: Any, who: str, recorded_value):
    recorded_value(LINKS.findall(side_of(request.getfixturevalue(who), "/keys/")))


def test_members_are_led_to_nothing_they_may_not_open(bob: Client):
    side = side_of(bob, "/keys/")
    assert "/runs/" in side
    assert not {"/ledger/", "/webhooks/", "/review/"} & set(LINKS.findall(side))
