"""Keys that work on every page, their list, and how they are turned off."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_keys_are_listed_used_and_turned_off(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/runs/")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    await page.keyboard.press("?")
    await expect(keys).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    await expect(search).to_be_focused()
    await page.keyboard.press("?")
    await expect(search).to_have_value("?")
    await page.get_by_label("Help", exact=True).click()
    await page.get_by_role("button", name="Keyboard shortcuts").click()
    await keys.get_by_label("Use the keys without Ctrl").uncheck()
    await keys.get_by_role("button", name="Close").click()
    await page.reload()
    await page.keyboard.press("?")
    await page.keyboard.press("/")
    await expect(keys).to_be_hidden()
    await expect(search).not_to_be_focused()


async def test_a_key_begins_a_new_chat(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/?from=0")
    await page.locator("#main").focus()
    await page.keyboard.press("n")
    await expect(page).to_have_url(f"{site.url}/")
