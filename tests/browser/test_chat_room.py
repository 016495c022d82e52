"""Room for the answer: a composer of one line, and a page that follows the text."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.attachments.made_files import png
from tests.browser import runs
from tests.browser.plans import question_with, say
from tests.browser.screens import PHONE
from tests.browser.test_attachments import GIVEN
from tests.browser.test_live_markdown import ANSWER, PACE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MAX_FOLDED_PX = 72
TO_NEWEST = "To the newest words"
END_IS_SEEN = """() => {
  const end = document.querySelector("#run-answer [data-mirror]").lastElementChild;
  const cover = document.querySelector("#composer").getBoundingClientRect();
  return end.getBoundingClientRect().bottom <= cover.top;
}"""


async def test_composer_beside_an_answer_is_one_line_until_it_is_used(
    visit, site, hire
):
    await hire("instant")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await runs.ends(page)
    assert await height(page) <= MAX_FOLDED_PX
    tools = page.get_by_role("button", name="Presets")
    await expect(tools).to_be_hidden()
    await page.get_by_role("textbox", name="Prompt").focus()
    await expect(tools).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(tools).to_be_visible()
    await page.locator("#run-answer").click()
    await expect(tools).to_be_hidden()
    await page.get_by_role("textbox", name="Prompt").fill("And then?")
    await page.locator("#run-answer").click()
    await expect(tools).to_be_visible()


async def test_page_follows_the_answer_until_its_reader_scrolls_up(
    visit, site, hire, models
):
    await hire(PACE)
    page = (await visit(site.cast.alice)).page
    await page.set_viewport_size({"width": 1280, "height": 600})
    models.hold()
    await runs.ask_worker(page, PACE, say(ANSWER))
    answer = page.locator("#run-answer [data-mirror]")
    await expect(answer).to_contain_text("Part 2")
    assert await page.evaluate(END_IS_SEEN)
    await page.mouse.move(640, 300)
    await page.mouse.wheel(0, -400)
    button = page.get_by_role("button", name=TO_NEWEST)
    await expect(button).to_be_visible()
    place = await page.evaluate("scrollY")
    await expect(answer).to_contain_text("The end.")
    assert await page.evaluate("scrollY") == place
    await button.click()
    assert await page.evaluate(END_IS_SEEN)
    await expect(button).to_be_hidden()
    models.release()
    await runs.ends(page)
    await expect(button).to_be_hidden()


async def test_file_dropped_on_the_folded_composer_is_seen(visit, site, hire):
    await hire("instant")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await runs.ends(page)
    await page.evaluate(GIVEN, ["drop", "chart.png", "image/png", list(png())])
    await expect(page.get_by_role("button", name="Remove chart.png")).to_be_visible()


async def test_way_to_the_newest_words_is_in_sight_on_a_phone(
    visit, site, hire, models
):
    await hire(PACE)
    page = (await visit(site.cast.alice, size=PHONE)).page
    models.hold()
    await runs.ask_worker(page, PACE, say(ANSWER))
    await expect(page.locator("#run-answer [data-mirror]")).to_contain_text("Part 3")
    await page.mouse.move(195, 300)
    await page.mouse.wheel(0, -300)
    button = page.get_by_role("button", name=TO_NEWEST)
    await expect(button).to_be_in_viewport(ratio=1)
    models.release()
    await runs.ends(page)


async def test_box_of_a_running_step_shows_its_newest_words(visit, site, hire, models):
    await hire("tokens-200-80")
    models.hold(after=30)
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, question_with((0, "Count.", []), (0, "Sum up.", [0])))
    line = page.locator("#run-graph .node__line").first
    await expect(line).to_contain_text("27 28")
    models.release()
    await runs.ends(page)
    await expect(line).to_contain_text("tokens")


async def height(page: Page) -> float:
    """Return the height of the composer in CSS pixels."""
    box = await page.locator("#composer").bounding_box()
    assert box is not None
    return float(box["height"])
