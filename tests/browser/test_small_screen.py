"""On a telephone nothing is wider than the screen."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

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
