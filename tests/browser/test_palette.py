"""The palette: opened, searched and left with the keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_keys_lead_from_any_page_to_any_other(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/account/")
    await page.keyboard.press("Control+k")
    search = page.get_by_role("combobox", name="Search pages")
    await expect(search).to_be_focused()
    await page.keyboard.type("budg")
    options = page.locator("#palette").get_by_role("option")
    await expect(options.first).to_have_text(re.compile("^Budgets"))
    first = await options.first.get_attribute("id")
    await expect(search).to_have_attribute("aria-activedescendant", str(first))
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{site.url}/budgets/")


async def test_it_opens_where_single_keys_are_off_and_closes_with_escape(visit, site):
    page = (await visit(site.cast.bob)).page
    await page.goto("/runs/")
    await page.evaluate("localStorage.setItem('single-keys', 'off')")
    await page.reload()
    await page.get_by_role("button", name="Search").click()
    dialog = page.get_by_role("dialog", name="Search")
    await expect(dialog.get_by_role("option").first).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await page.keyboard.press("Control+k")
    await expect(dialog).to_be_visible()


async def test_nothing_found_is_said(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/runs/")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("no such thing at all")
    dialog = page.get_by_role("dialog", name="Search")
    await expect(dialog.get_by_role("status")).to_contain_text("Nothing found")
    await expect(dialog.get_by_role("option")).to_have_count(0)
