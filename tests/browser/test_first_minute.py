"""The guided first minute: shown where workers are simulated, ticked off, skipped."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.test_candidate_tests import prepare

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"


async def test_the_tour_leads_to_a_wrong_model_beside_a_right_plan(
    visit, site, settings, tmp_path
):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.goto("/")
    guide = page.get_by_role("region", name="Your first minute")
    steps = guide.get_by_role("listitem")
    await expect(steps.nth(0)).to_have_attribute("aria-current", "step")
    claim = page.get_by_role("region", name="41 points more often")
    await expect(claim.first).to_contain_text("Best single model")
    await page.goto("/home/")
    # With entering the demo these are the four clicks that the comparison may take.
    await page.get_by_role("link", name="Try one of these tasks").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_role("button", name="Compare with the best single model").click()
    await page.wait_for_url("**/comparisons/*-*/")
    words = page.locator("#comparison-words")
    await expect(words).to_contain_text(
        "A (conductor-ultra) is right, B (bench-generalist-strong) is wrong."
    )
    await expect(words).to_contain_text("× the cost")
    await expect(words).to_contain_text("This is one of 240 tasks.")
    await expect(words).to_contain_text("at 0.8 times its cost")
    await expect(page.locator("#side-A")).to_contain_text("Right")
    await expect(page.locator("#side-B")).to_contain_text("Wrong")
    await expect(page.get_by_text("Your first minute, step 3 of 3")).to_be_visible()
    await page.locator("#side-A").get_by_role("link", name="Open run").click()
    await expect(page.get_by_text("That was your first minute")).to_be_visible()
    await page.get_by_role("link", name="Why this plan").click()
    await expect(page.get_by_text("Why this plan", exact=True)).to_be_in_viewport()
    await page.reload()
    await expect(page.get_by_text("That was your first minute")).to_be_hidden()
    await page.goto("/")
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_visible()
    await expect(guide).to_be_hidden()


async def test_a_run_opened_before_the_comparison_does_not_end_the_tour(
    visit, site, settings, tmp_path
):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.goto("/?sample=1")
    await page.get_by_role("button", name="Run", exact=True).click()
    await runs.ends(page)
    await page.get_by_role("link", name="Audit record").click()
    await expect(page.get_by_text("Why this plan", exact=True)).to_be_visible()
    await expect(page.get_by_text("That was your first minute")).to_be_hidden()
    await page.goto("/")
    steps = page.get_by_role("region", name="Your first minute").get_by_role("listitem")
    await expect(steps.nth(1)).to_have_attribute("aria-current", "step")


async def test_a_question_beyond_simulated_models_has_a_way_out(
    visit, site, settings, tmp_path
):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.goto("/")
    await runs.start(page, "Is remote work good for a small bakery?")
    await runs.ends(page)
    await expect(page.locator("a.node")).to_have_count(1)
    await page.get_by_label("Ask real models").fill(site.simulator_url)
    await page.get_by_role("button", name="Connect").click()
    await expect(page.get_by_role("heading", name="Models")).to_be_visible()
    await expect(page.get_by_role("button", name="Save and test")).to_be_visible()


async def test_answers_are_rated_where_they_stand(visit, site, settings, tmp_path):
    _, user = await prepare(site, settings, tmp_path)
    page = (await visit(user)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    good = page.get_by_role("button", name="Good answer")
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "true")
    await page.reload()
    await expect(good).to_have_attribute("aria-pressed", "true")
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "false")
    await page.reload()
    await expect(good).to_have_attribute("aria-pressed", "false")


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
