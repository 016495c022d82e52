"""Everything can be done without a mouse, and focus never gets lost."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"
MANY = 60
"""More presses of Tab than any page here needs."""
FOCUSED = """() => {
  const it = document.activeElement;
  return it.id || it.dataset.step || it.getAttribute("href") || it.textContent.trim();
}"""


async def _tab_until(page: Page, wanted: str, key: str = "Tab") -> list[str]:
    """Press Tab until `wanted` has the focus; return what had it on the way."""
    way = []
    for _ in range(MANY):
        await page.keyboard.press(key)
        way.append(await page.evaluate(FOCUSED))
        if way[-1] == wanted:
            return way
    raise AssertionError(f"Tab never reached {wanted!r}, only {way}")


async def test_tab_reaches_prompt_run_and_the_steps_of_the_plan(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await page.locator("#worker").focus()
    await _tab_until(page, "prompt")
    await page.keyboard.type(SUM)
    await _tab_until(page, "start")
    await page.keyboard.press("Enter")
    await runs.ends(page)
    await page.get_by_role("textbox", name="Prompt").focus()
    way = await _tab_until(page, "0-2")
    assert [place for place in way if place.startswith("0-")] == ["0-0", "0-1", "0-2"]


async def test_first_tab_offers_to_skip_to_the_content(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/runs/")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#main")).to_be_focused()


async def test_enter_on_a_step_of_the_plan_opens_it_and_escape_leads_back(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    node = page.locator('a.node[data-step="0-2"]')
    await node.focus()
    await page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    await expect(drawer.locator("#drawer-title")).to_contain_text("Step 3")
    await drawer.get_by_role("link", name="1", exact=True).press("Enter")
    await expect(drawer.locator("#drawer-title")).to_contain_text("Step 1")
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_hidden()
    await expect(node).to_be_focused()


async def test_drawer_opens_closes_with_escape_and_gives_the_focus_back(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    sent = runs.card(page, 0).get_by_role("link", name="View request")
    await sent.focus()
    await page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    await expect(drawer).to_contain_text("17 * 23 + 4")
    assert await page.evaluate("document.querySelector('#drawer').matches(':modal')")
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_hidden()
    await expect(sent).to_be_focused()


async def test_focus_is_on_what_is_wrong_with_a_form(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/keys/new/")
    await page.get_by_role("button", name="Create key").click()
    await expect(page.locator("#form-errors")).to_be_focused()


async def test_focus_survives_live_updates(visit, site, hire, models):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    node = page.locator('a.node[data-step="0-0"]')
    await node.focus()
    models.release()
    await runs.ends(page)
    await expect(node).to_be_focused()


async def test_dark_theme_is_kept_over_a_reload(visit, site):
    page = (await visit(site.cast.alice, color_scheme="light")).page
    await page.goto("/")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(paper)
    switch = page.get_by_role("button", name="Theme")
    await switch.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(switch).to_have_accessible_name("Theme: dark")
    dark = await page.evaluate(paper)
    await page.reload()
    await expect(switch).to_have_accessible_name("Theme: dark")
    assert await page.evaluate(paper) == dark != light
