"""Insights as a person reads them: from a figure to its runs, also on a telephone."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_from_a_figure_to_its_runs_on_a_telephone(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await page.goto("/")
    await runs.start(page, "What is 17 * 23 + 4?")
    await runs.ends(page)
    await page.goto("/insights/")
    await expect(page.locator(".insights-chart")).to_have_count(4)
    await fits(page)
    await page.get_by_label("Group by").select_option("member")  # sent by itself
    await expect(page.get_by_role("heading", name="By member")).to_be_visible()
    for part in ("Failures", "Plans"):
        links = page.get_by_role("navigation", name="Insights")
        await links.get_by_role("link", name=part).click()
        await expect(page.get_by_role("heading", name="Insights")).to_be_visible()
        await fits(page)
    await page.locator("tbody a").first.click()
    await expect(page.get_by_text("What is 17 * 23 + 4?").first).to_be_visible()
