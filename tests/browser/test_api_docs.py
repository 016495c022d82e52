"""The API's documentation in a real browser, under the site's strict policy."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_documentation_is_drawn_and_an_operation_can_be_tried(visit, site):
    visitor = await visit(site.cast.alice)
    page = visitor.page
    await page.goto("/api/v1/docs/")
    await expect(
        page.get_by_role("heading", name=re.compile("^Conductor API"))
    ).to_be_visible()
    await expect(page.get_by_role("navigation")).to_contain_text("API keys")
    await page.locator("#operations-Team-team_get").click()
    await page.get_by_role("button", name="Try it out").click()
    await page.get_by_role("button", name="Execute", exact=True).click()
    answer = page.locator(".live-responses-table")
    await expect(answer).to_contain_text("orchestra")
