"""Ten jobs that people do every day, done with the keyboard alone."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"
MANY = 120
"""More presses of Tab than any page needs."""
NAMED = """() => {
  const it = document.activeElement;
  const label = it.labels?.[0]?.textContent ?? "";
  return (it.getAttribute("aria-label") ?? (label || it.textContent)).trim();
}"""


async def reach(page: Page, name: str) -> None:
    """Press Tab until what is called `name`, or begins so, has the focus."""
    await page.wait_for_load_state()
    met = []
    for _ in range(MANY):
        await page.keyboard.press("Tab")
        met.append(await page.evaluate(NAMED))
        if met[-1].startswith(name):
            return
    raise AssertionError(f"Tab never reached {name!r}, only {met}")


async def follow(page: Page, name: str) -> None:
    """Reach a link or button, and press it."""
    await reach(page, name)
    await page.keyboard.press("Enter")


async def test_ask_read_a_step_continue_and_begin_anew(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await expect(page.locator("#prompt")).to_be_focused()
    await page.keyboard.type(SUM)
    await page.keyboard.press("Control+Enter")  # 1: ask
    await runs.is_ready(page)
    await runs.ends(page)
    await follow(page, "Step 1,")  # 2: read what a step was sent
    await expect(page.get_by_role("dialog")).to_contain_text("your-subtask")
    await page.keyboard.press("Escape")
    await reach(page, "Prompt")
    await page.keyboard.type("And 5 more?")
    await page.keyboard.press("Control+Enter")  # 3: ask a follow-up
    await expect(page.locator(".turns .turn")).to_have_count(1)
    await runs.ends(page)
    await page.keyboard.press("Tab")
    await follow(page, "Skip to content")
    await page.keyboard.press("n")  # 4: begin a new conversation
    await expect(page.locator("#prompt")).to_be_focused()
    await expect(page.locator("#run-body")).to_have_count(0)


async def test_find_verify_and_compare_a_run(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.is_ready(page)
    await runs.ends(page)
    await page.goto("/runs/")
    await page.keyboard.press("/")  # 5: search
    await page.keyboard.type("23")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**q=23**")
    await follow(page, "What is 17")
    await page.wait_for_url("**/runs/*-*/")
    await follow(page, "Verify")  # 6: verify its record
    await expect(page.locator(".verification")).to_be_visible()
    await follow(page, "Compare with…")  # 7: compare with another candidate
    await page.wait_for_url("**/comparisons/new/**")
    await follow(page, "Start comparison")
    await page.wait_for_url("**/comparisons/*-*/")


async def test_go_anywhere_make_a_key_and_change_the_theme(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/runs/")
    await page.keyboard.press("Control+k")  # 8: go to a page by its name
    await page.keyboard.type("API keys")
    await page.keyboard.press("Enter")  # before the server has answered
    await page.wait_for_url("**/keys/")
    await follow(page, "Create a key")  # 9: make an API key
    await page.wait_for_url("**/keys/new/")
    await reach(page, "Name")
    await page.keyboard.type("Nightly")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nightly").first).to_be_visible()
    await expect(page.get_by_text("cdk_").first).to_be_visible()
    before = await page.evaluate("document.documentElement.dataset.theme ?? 'auto'")
    await page.goto("/runs/")
    await follow(page, "Theme:")  # 10: change the theme
    after = await page.evaluate("document.documentElement.dataset.theme ?? 'auto'")
    assert after != before
