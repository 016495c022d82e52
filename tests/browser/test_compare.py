"""Answers side by side: started, streamed, voted on by keyboard, revealed."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.browser.screens import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def begin(page: Page, *workers: str, blind: bool = True) -> None:
    """Compare workers from the playground."""
    await page.goto("/")
    await page.get_by_role("textbox", name="Prompt").fill("Hello")
    await page.get_by_role("button", name="Compare…").click()
    await page.wait_for_url("**/comparisons/new/")
    for box in await page.locator("[name=candidate]").all():
        await box.uncheck()
    for worker in workers:
        await page.locator(f'[value="worker/{worker}"]').check()
    await page.get_by_label("Blind").set_checked(blind)
    await expect(page.locator("#total")).to_contain_text("Together")
    await page.get_by_role("button", name="Start comparison").click()
    await page.wait_for_url("**/comparisons/*-*/")


async def test_three_are_streamed_voted_on_by_keyboard_and_revealed(
    visit, site, hire, models
):
    names = ("tokens-60-60", "tokens-90-60", "instant")
    await hire(*names)
    models.hold()
    page = (await visit(site.cast.alice)).page
    await begin(page, *names)
    columns = page.get_by_role("article")
    await expect(columns).to_have_count(3)
    await expect(page.locator("#comparison")).to_contain_text("0 1 2 3")
    models.release()
    vote = page.get_by_role("button", name="B is better")
    await expect(vote).to_be_visible()
    hidden = await page.locator("main").inner_html()
    assert not [name for name in (*names, "$") if name in hidden]
    await page.get_by_label("Reason, if you like").focus()
    await page.keyboard.type("It is complete.")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("is better, by 1 of 1 vote.")).to_be_visible()
    for name in names:
        await expect(page.get_by_role("article", name=name)).to_be_visible()
    await expect(page.locator("#comparison-words")).to_contain_text("× the time")
    await expect(page.get_by_text("It is complete.").last).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("is better, by 1 of 1 vote.")).to_be_visible()


async def test_comparison_fits_a_telephone(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await begin(page, "sim-delta", "sim-birch", blind=False)
    await expect(page.locator(".side .prose")).to_have_count(2)
    await expect(page.get_by_role("button", name="Tie")).to_be_visible()
    await page.get_by_role("button", name="Mark differences").click()
    await expect(page.locator("mark.only-here").first).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


async def test_p9_numbers_of_a_running_answer_move(visit, site, hire, models):
    await hire("instant", "tokens-200-100")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await begin(page, "instant", "tokens-200-100", blind=False)
    right = page.get_by_role("article", name="tokens-200-100")
    await expect(right.locator(".metrics__sub").first).to_have_text(
        re.compile(r"^[2-9]\.\d s of model time")
    )
    tokens = right.locator("[data-writing]")
    await expect(tokens).to_have_text(re.compile(r"\+ ≈ \d\d"))
    models.release()
    await expect(right).to_contain_text("Completed")
    await expect(tokens).to_have_count(0)


async def test_answer_of_a_run_is_compared_with_another(visit, site):
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "sim-delta", "What is 12 * 12?")
    await runs.ends(page)
    await page.get_by_role("link", name="Compare with…").click()
    await expect(page.get_by_label("Existing answer")).to_be_checked()
    await page.get_by_role("button", name="Start comparison").click()
    await expect(page.locator(".side .prose")).to_have_count(2)
