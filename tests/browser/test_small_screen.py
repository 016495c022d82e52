"""On a telephone nothing is wider than the screen."""

from __future__ import annotations

import pytest
from playwright.async_api import Route, expect

from tests.browser import runs
from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_no_page_scrolls_sideways(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await page.goto("/")
    await fits(page)
    await runs.start(page, "What is 17 * 23 + 4?")
    await runs.ends(page)
    await fits(page)
    await runs.open_record(page)
    await page.get_by_role("button", name="Verify").click()
    await expect(page.locator(".verification")).to_be_visible()
    await fits(page)
    await page.goto("/runs/")
    await expect(page.locator("tr.row")).to_be_visible()
    await fits(page)


async def test_settings_are_drawn_once_what_stands_above_them_is_there(visit, site):
    page = (await visit(site.cast.alice, size=PHONE, java_script_enabled=False)).page
    await page.goto("/")
    await runs.start(page, "What is 17 * 23 + 4?")
    await page.wait_for_url("**/conversations/**")
    settings = page.locator(".settings")
    for address in ("/", page.url.partition("#")[0]):
        await page.goto(address)
        await expect(settings).to_be_visible()
        await page.route("**", without_composer)
        await page.goto(address)
        await expect(settings).to_be_attached()
        await expect(settings).to_be_hidden()
        await page.unroute("**")


async def without_composer(route: Route) -> None:
    """Answer with the document up to the composer, as if the rest were on its way."""
    if not route.request.is_navigation_request():
        await route.fallback()
        return
    answer = await route.fetch()
    above, found, _ = (await answer.text()).partition('<form class="composer"')
    assert found
    await route.fulfill(response=answer, body=above)


async def test_drawer_fits_the_screen(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await runs.ask_worker(page, "sim-delta", "A very long word: " + "x" * 400)
    await runs.ends(page)
    await page.get_by_role("link", name="View request").click()
    drawer = page.get_by_role("dialog")
    await expect(drawer).to_be_visible()
    box = await drawer.bounding_box()
    assert box is not None
    assert (box["x"] >= 0, box["x"] + box["width"] <= PHONE[0]) == (True, True)
    await fits(page)


async def test_account_menu_has_the_help(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await page.goto("/runs/")
    await expect(page.locator("#help-menu")).to_be_hidden()
    await page.get_by_label("Account and team").click()
    menu = page.locator("#account-menu")
    for name, path in (
        ("Documentation", "/docs/"),
        ("API reference", "/api/v1/docs/"),
        ("What’s new", "/docs/changes/"),
        ("Status of the site", "/status/"),
    ):
        link = menu.get_by_role("link", name=name)
        await expect(link).to_be_visible()
        await expect(link).to_have_attribute("href", path)
    await menu.get_by_role("button", name="Keyboard shortcuts").click()
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await expect(menu.get_by_role("link", name="Documentation")).to_be_hidden()
    await fits(page)
