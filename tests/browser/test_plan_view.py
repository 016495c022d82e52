"""The drawing of a plan: what each step does, its size, full screen, and the views."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.browser.plans import question_with
from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"
HIDDEN = """() => [...document.querySelectorAll("#run-graph, #run-graph .graph")]
  .filter((e) => e.scrollHeight > e.clientHeight)
  .map((e) => `${e.id}: ${e.scrollHeight} in ${e.clientHeight}`)"""
"""Boxes around the drawing that cut it at the bottom."""
CUT_AT_SIDE = """() => [...document.querySelectorAll("#run-graph .graph")]
  .filter((e) => e.scrollWidth > e.clientWidth)
  .map((e) => `${e.id}: ${e.scrollWidth} in ${e.clientWidth}`)"""
"""Boxes around the drawing that cut it at the right."""
WIDTH = "document.querySelector('.graph__svg').getBoundingClientRect().width"


async def _done(page: Page) -> None:
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)


async def test_each_node_says_what_its_step_does_and_what_it_took(visit, site):
    page = (await visit(site.cast.alice)).page
    await _done(page)
    events = await runs.events_of(await runs.only_run(site.cast.team))
    (plan,) = [each for each in events if type(each).__name__ == "PlanAccepted"]
    nodes = page.locator("#run-graph a.node")
    await expect(nodes).to_have_count(len(plan.subtasks))
    for number, subtask in enumerate(plan.subtasks):
        await expect(nodes.nth(number)).to_contain_text(subtask[:60])
        await expect(nodes.nth(number)).to_contain_text("tokens · ")


@pytest.mark.parametrize("size", [(1440, 900), PHONE], ids=["screen", "phone"])
@pytest.mark.parametrize("parallel", [2, 3])
async def test_a_live_plan_is_whole(visit, site, hire, models, size, parallel):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice, size=size)).page
    await page.goto("/")
    first = [(0, f"List part {n}, with figures.", list[int]()) for n in range(parallel)]
    last = (0, "Combine all parts into a recommendation.", list(range(parallel)))
    await runs.start(page, question_with(*first, last))
    running = page.locator('#run-graph a.node[data-state="running"]')
    await expect(running).to_have_count(parallel)
    assert await page.evaluate(HIDDEN) == []
    models.release()
    await runs.ends(page)


async def test_a_live_plan_of_three_columns_is_not_cut_at_its_side(
    visit, site, hire, models
):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice, size=(1440, 900))).page
    await page.goto("/")
    first = [(0, f"List part {n}, with figures.", list[int]()) for n in range(3)]
    parts = (0, "Combine all parts into a recommendation.", [0, 1, 2])
    await runs.start(page, question_with(*first, parts, (0, "Check it.", [3])))
    running = page.locator('#run-graph a.node[data-state="running"]')
    await expect(running).to_have_count(3)
    assert await page.evaluate(CUT_AT_SIDE) == []
    models.release()
    await runs.ends(page)


async def test_a_step_that_is_open_follows_its_run(visit, site, hire, models):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await page.locator('a.node[data-state="running"]').click()
    drawer = page.get_by_role("dialog")
    await expect(drawer).to_contain_text("Running")
    models.release()
    await expect(drawer).to_contain_text("Completed")
    await expect(drawer.locator(".prose")).not_to_be_empty()


async def test_the_plan_grows_shrinks_and_fits_again_by_keys(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await _done(page)
    fitting = await page.evaluate(WIDTH)
    await page.locator(".graph").focus()
    await page.keyboard.press("+")
    assert await page.evaluate(WIDTH) > fitting
    await page.get_by_role("button", name="Smaller").click()
    await page.get_by_role("button", name="Smaller").click()
    assert await page.evaluate(WIDTH) < fitting
    await page.get_by_role("button", name="Fit").click()
    assert await page.evaluate(WIDTH) == fitting
    await fits(page)


async def test_the_plan_fills_the_screen_and_comes_back(visit, site):
    page = (await visit(site.cast.alice)).page
    await _done(page)
    await page.get_by_role("button", name="Plan in full screen").click()
    await expect(page.locator("#run-answer")).to_be_hidden()
    await expect(page.locator("#run-graph")).to_be_in_viewport()
    await page.get_by_role("button", name="Leave full screen").click()
    await expect(page.locator("#run-answer")).to_be_visible()


async def test_the_simple_view_is_the_answer_and_the_plan_and_is_remembered(
    visit, site
):
    page = (await visit(site.cast.alice)).page
    await _done(page)
    cards, timeline = page.locator("#run-cards"), page.locator("#run-timeline")
    await expect(cards).to_be_visible()
    await page.get_by_role("button", name="Simple view").click()
    await expect(cards).to_be_hidden()
    await page.reload()
    await expect(page.locator("#run-answer")).to_be_visible()
    await expect(page.locator("#run-graph")).to_be_visible()
    await expect(cards).to_be_hidden()
    await expect(timeline).to_be_hidden()
    await page.get_by_role("button", name="Full view").click()
    await expect(timeline).to_be_visible()
