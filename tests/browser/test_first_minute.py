"""The guided first minute: shown where workers are simulated, ticked off, skipped."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.test_candidate_tests import prepare

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"


async def test_what_was_done_is_ticked_off_until_nothing_is_left(
    visit, site, settings, tmp_path
):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.goto("/")
    guide = page.get_by_role("region", name="Your first minute")
    steps = guide.get_by_role("listitem")
    await expect(steps.nth(0)).to_have_attribute("aria-current", "step")
    await runs.start(page, SUM)
    await runs.ends(page)
    await expect(steps.nth(0)).to_contain_text("Done")
    await page.locator("a.node").first.click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(steps.nth(1)).to_contain_text("Done")
    await page.get_by_text("Compare with…", exact=True).click()
    await page.get_by_role("button", name="Start comparison").click()
    await page.wait_for_url("**/comparisons/*-*/")
    await page.go_back()
    await page.go_back()
    await expect(steps.nth(2)).to_contain_text("Done")
    await runs.open_record(page)
    await page.get_by_role("button", name="Verify").click()
    await expect(page.locator(".verification")).to_be_visible()
    await page.goto("/")
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_visible()
    await expect(guide).to_be_hidden()


async def test_skipped_it_stays_away(visit, site, settings, tmp_path):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.goto("/")
    await page.get_by_role("button", name="Skip", exact=True).click()
    guide = page.locator("#first-minute")
    await expect(guide).to_be_hidden()
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_focused()
    await page.reload()
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    await expect(guide).to_be_hidden()


FORBID = """for (const name of ["localStorage", "sessionStorage"]) {
  const get = () => { throw new DOMException("no", "SecurityError"); };
  Object.defineProperty(window, name, { get });
}"""


async def test_pages_work_where_nothing_may_be_remembered(
    visit, site, settings, tmp_path
):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.add_init_script(FORBID)
    await page.goto("/")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    await page.get_by_role("button", name="Skip", exact=True).click()
    await expect(page.locator("#first-minute")).to_be_hidden()
    await page.get_by_role("textbox", name="Prompt").fill("A draft")
    await page.get_by_role("button", name="Theme: automatic").click()
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


async def test_a_team_with_real_models_has_no_guide(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    await expect(page.locator("#first-minute")).to_have_count(0)
