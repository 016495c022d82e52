"""The playground says what a run may cost while one is typing."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_estimate_follows_what_is_typed_and_chosen(visit, site):
    page = (await visit(site.cast.bob)).page
    await page.goto("/")
    estimate = page.locator("#estimate")
    await expect(estimate).to_be_hidden()
    await page.locator("#prompt").fill("What is 17 × 23 + 4?")
    await expect(estimate).to_contain_text("Estimated cost: ")
    plan = await estimate.text_content()
    await page.locator("#worker").select_option("sim-delta")
    await expect(estimate).not_to_have_text(plan or "")
    await page.locator("#prompt").fill("")
    await expect(estimate).to_be_hidden()
