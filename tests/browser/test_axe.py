"""Every page of a team that has one of everything, judged by axe (WCAG 2.2 AA).

Each is looked at wide and light; in `make test-all` also dark, and narrow in both.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from channels.db import database_sync_to_async
from django.urls import NoReverseMatch, reverse
from playwright.async_api import Page

from apps.accounts.models import Role, User
from tests.browser.conftest import WIDE
from tests.browser.screens import PHONE
from tests.conftest import Site
from tests.factories import UserFactory
from tests.security.routes import django_routes
from tests.security.world import World, build_world
from tests.tiers import is_exhaustive
from tests.worlds import world

pytestmark = [
    pytest.mark.browser,
    pytest.mark.spread,
    pytest.mark.asyncio(loop_scope="session"),
]
SHARES = 6
"""Tests that the pages are divided among, so that they run side by side."""
SCREENS: tuple[tuple[tuple[int, int], Literal["light", "dark"]], ...] = (
    (WIDE, "light"),
    (WIDE, "dark"),
    (PHONE, "light"),
    (PHONE, "dark"),
)
OPERATORS = ("admin:", "site_")
"""Beginnings of the names of the operator's pages."""
PARTS_OF_PAGES = frozenset({"admin:jsi18n", "admin:autocomplete", "admin:search"})
"""What scripts of these pages ask for."""
WAYS = frozenset({"admin:login", "admin:logout"})
TRANSLATED = ("console:home", "playground:run_list", "account", "mfa_index", "docs")
SIGNED_OUT = ("account_login", "account_signup", "account_reset_password")
FAULTS = """async () => {
  const RULES = { resultTypes: ["violations"], preload: false };
  const found = await axe.run(document, RULES);
  return found.violations.flatMap((fault) =>
    fault.nodes.map((node) => `${fault.id}: ${node.html.slice(0, 160)}`));
}"""


async def _faults(page: Page, address: str) -> list[str]:
    """Return what axe finds at an address, with the screen that it was found on."""
    found = []
    for (width, height), scheme in SCREENS if is_exhaustive() else SCREENS[:1]:
        await page.set_viewport_size({"width": width, "height": height})
        # Before the page: a colour that is still changing has another contrast.
        await page.emulate_media(color_scheme=scheme)
        await page.goto(address)
        await page.wait_for_load_state()
        await page.evaluate(AXE_SCRIPT)
        faults = await page.evaluate(FAULTS)
        found += [f"{address} {width} {scheme} {fault}" for fault in faults]
    return found


async def _all_faults(page: Page, addresses: list[str]) -> list[str]:
    return [fault for each in addresses for fault in await _faults(page, each)]


def fill(site: Site) -> World:
    """Fill a world: there is one of everything."""
    return build_world()


@database_sync_to_async
def _pages(world: World, share: int) -> list[str]:
    """Return a share of the pages of a world's owner."""
    owner = world.browser(Role.OWNER)
    routes = [each for each in django_routes() if not _is_left_out(each.name)]
    found = []
    for route in routes[share::SHARES]:
        try:
            address = world.address(route)
        except (KeyError, NoReverseMatch):
            continue  # its argument comes by mail, such as a key of a new password
        answer: Any = owner.get(address)
        if answer.status_code == 200 and not answer.streaming:
            found += [address] if b"<!doctype html>" in answer.content[:200] else []
    return found


def _is_left_out(name: str) -> bool:
    return name.startswith(("rest:", *OPERATORS))


def _operators_pages() -> list[str]:
    """Return the operator's pages that are of no one row."""
    found = []
    for route in django_routes():
        if not route.name.startswith(OPERATORS) or route.arguments:
            continue
        with suppress(NoReverseMatch):  # of a row, with an argument without a name
            if route.name not in PARTS_OF_PAGES | WAYS:
                found.append(reverse(route.name))
    return found


@world(fill)
async def test_pages_in_german_are_accessible(visit, site, filled):
    owner = filled.people[Role.OWNER]
    page = (await visit(owner, locale="de-DE")).page
    assert await _all_faults(page, [reverse(name) for name in TRANSLATED]) == []
    assert await page.locator("html").get_attribute("lang") == "de"
    page = (await visit(None, locale="de-DE")).page
    assert await _all_faults(page, [reverse(name) for name in SIGNED_OUT]) == []
    assert await page.locator("html").get_attribute("lang") == "de"


@world(fill)
@pytest.mark.parametrize("share", range(SHARES))
async def test_every_page_of_a_team_is_accessible(visit, site, filled, share):
    addresses = await _pages(filled, share)
    assert len(addresses) > 10
    page = (await visit(filled.people[Role.OWNER])).page
    assert await _all_faults(page, addresses) == []


async def test_the_operators_pages_are_accessible(visit, site):
    operator: User = await database_sync_to_async(UserFactory.create)(
        is_staff=True, is_superuser=True
    )
    visitor = await visit(operator)
    visitor.guard.expect("status of 403")  # lists to which nobody adds by hand
    addresses = _operators_pages()
    assert len(addresses) > 20
    assert await _all_faults(visitor.page, addresses) == []


async def test_the_way_in_is_accessible(visit, site):
    page = (await visit(None)).page
    assert await _all_faults(page, [reverse(name) for name in SIGNED_OUT]) == []
