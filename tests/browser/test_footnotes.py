"""Footnotes of answers are followed by keyboard, also on a page of many answers."""

from __future__ import annotations

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.plans import question_with, say
from tests.browser.test_diagrams import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
NOTED = "Water boils at 100 degrees[^1].\n\n" + "More words.\n\n" * 40
NOTE = "[^1]: At *sea level*, see <https://a.example/>.\n"


async def test_footnote_is_followed_and_left_by_keyboard(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(NOTED + NOTE))
    await runs.ends(page)
    answer = page.locator("#run-answer")
    await answer.get_by_role("link", name="Footnote 1").press("Enter")
    note = answer.locator(".footnotes li:target")
    await expect(note).to_be_in_viewport()
    await page.keyboard.press("Tab")
    await expect(note.get_by_role("link", name="a.example")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(note.get_by_role("link", name="Back to reference 1")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(answer.locator("sup a:target")).to_be_in_viewport()
    await page.evaluate(AXE_SCRIPT)
    assert await page.evaluate(FAULTS, "#run-answer") == []


async def test_ids_of_all_answers_of_a_page_differ(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    text = say("A claim[^1].\n\n[^1]: The source.")
    await runs.start(page, question_with((0, text, []), (0, text, [0])))
    await runs.is_ready(page)
    await runs.ends(page)
    await expect(page.locator(".footnotes")).to_have_count(3)
    ids = await page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


async def test_footnotes_are_shown_while_an_answer_is_written(
    visit, site, hire, models
):
    await hire("scripted-30")
    models.hold()
    page = (await visit(site.cast.alice)).page
    text = f"A claim[^1].\n\n{NOTE}\n" + "More words. " * 60
    await runs.ask_worker(page, "scripted-30", say(text))
    live = page.locator("#run-answer [data-mirror]")
    await expect(live.locator("sup")).to_have_text("1")
    await expect(live.locator(".footnotes li")).to_contain_text("At sea level")
    models.release()
    await runs.ends(page)
    await expect(page.locator("#run-answer sup a")).to_have_text("1")
