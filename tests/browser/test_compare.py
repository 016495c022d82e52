"""A finished run beside one worker that was asked the same, live."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.screens import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_comparison_follows_the_worker_until_it_has_answered(visit, site, hire):
    await hire("instant", "tokens-150-150")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await runs.ends(page)
    await page.locator("#run-compare summary").click()
    await page.get_by_role("button", name="tokens-150-150").click()
    right = page.get_by_role("article", name="tokens-150-150")
    await expect(right).to_contain_text("0 1 2 3")
    await expect(right.locator(".prose")).to_contain_text("148 149")
    await expect(right).to_contain_text("Completed")
    left = page.get_by_role("article", name="instant")
    await expect(left.locator(".prose")).to_have_text("ok")


async def test_comparison_fits_a_telephone(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await runs.ask_worker(page, "sim-delta", "What is 12 * 12?")
    await runs.ends(page)
    await page.locator("#run-compare summary").click()
    await page.get_by_role("button", name="sim-birch").click()
    await expect(page.locator(".side .prose")).to_have_count(2)
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


async def test_p9_numbers_of_a_running_side_move(visit, site, hire):
    await hire("instant", "tokens-600-100")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await runs.ends(page)
    await page.locator("#run-compare summary").click()
    await page.get_by_role("button", name="tokens-600-100").click()
    right = page.get_by_role("article", name="tokens-600-100")
    await expect(right.locator(".metrics__sub").first).to_have_text(
        re.compile(r"^[2-9]\.\d s of model time")
    )
    tokens = right.locator("[data-writing]")
    await expect(tokens).to_have_text(re.compile(r"\+ ≈ \d\d"))
    await expect(right).to_contain_text("Completed")
    await expect(tokens).to_have_count(0)
