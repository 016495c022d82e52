"""Without JavaScript everything but the live parts works."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"
CONVERSATION = re.compile(r"/conversations/[0-9a-f-]{36}/#now$")


async def test_prompt_leads_to_a_page_with_the_answer(visit, site):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await expect(page).to_have_url(CONVERSATION)
    await runs.in_database(lambda: runs.wait_for_end(site.cast.team))
    await page.reload()
    await expect(page.locator("#run-answer .prose")).to_contain_text("395")
    await expect(page.locator("#run-graph a.node")).to_have_count(3)


async def test_context_and_verification_are_pages(visit, site):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await expect(page).to_have_url(CONVERSATION)
    await runs.in_database(lambda: runs.wait_for_end(site.cast.team))
    await page.reload()
    await page.get_by_role("link", name="View request").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Step 1")
    await expect(page.locator("main")).to_contain_text("17 * 23 + 4")
    await page.go_back()
    await page.get_by_role("link", name="Audit record").click()
    await page.get_by_role("button", name="Verify").click()
    await expect(page.locator(".verification")).to_contain_text("chain intact")


async def test_sample_fills_the_prompt(visit, site):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await page.goto("/")
    sample = page.locator("[data-prompt]").first
    words = str(await sample.get_attribute("data-prompt"))
    await sample.click()
    await expect(page.get_by_role("textbox", name="Prompt")).to_have_value(words)
