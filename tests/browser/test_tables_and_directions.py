"""Answers with tables and in scripts that run from right to left."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.screens import PHONE
from tests.playground import stories
from tests.playground.conftest import record_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TABLE = """| Tariff | Duration | Price per month | Risk | What is included in it |
|---|---|---|---|---|
| Basic | 12 months | 10,000.00 | medium | Support by mail, answered within two days |
| Premium | 2026-01-31 | 1,250,000.50 | low | A person to call, at night as well |
"""
ARABIC = (
    "مرحبا بالعالم.\n\n- واحد\n- اثنان\n\n| الاسم | السعر |\n|---|---|\n| ألف | 10 |\n"
)
BROKEN_WORDS = """cells => cells.flatMap((cell) => {
  const text = cell.firstChild, words = [];
  for (const {index, 0: word} of text.data.matchAll(/\\S+/g)) {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    if (range.getClientRects().length !== 1) words.push(word);
  }
  return words;
})"""


async def _recorded(site: Any, text: str, title: str = "A question") -> Any:
    team, entries = site.cast.team, stories.answered(text, subtask=text[:14])
    fields = {"finished_at": stories.START, "title": title}
    return await runs.in_database(lambda: record_run(team, entries, **fields))


@pytest.mark.parametrize("size", [(1440, 900), PHONE])
async def test_p6_table_breaks_no_word_and_no_figure(visit, site, size):
    run = await _recorded(site, TABLE)
    page = (await visit(site.cast.alice, size)).page
    await page.goto(f"/runs/{run.id}/")
    cells = page.locator("#run-answer :is(td, th)")
    await expect(cells).to_have_count(15)
    assert await cells.evaluate_all(BROKEN_WORDS) == []
    for figure in ("10,000.00", "2026-01-31", "1,250,000.50"):
        box = await cells.filter(has_text=figure).bounding_box()
        assert box is not None and box["width"] > 60
    frame = (
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert await page.evaluate(frame) <= 0


async def test_p8_right_to_left_text_starts_at_the_right(visit, site):
    run = await _recorded(site, ARABIC, title="مرحبا؟")
    page = (await visit(site.cast.alice)).page
    await page.goto(f"/runs/{run.id}/")
    for place in ("h1", "#run-answer .prose", "#run-answer ul", ".card__subtask"):
        await expect(page.locator(place).first).to_have_css("direction", "rtl")
    table = page.locator("#run-answer .table-scroll")
    await expect(table).to_have_css("direction", "rtl")
    await page.goto("/runs/")
    link = page.locator("tr.row a")
    await expect(link).to_have_css("direction", "rtl")
    await page.goto("/")
    box = page.get_by_role("textbox", name="Prompt")
    await box.fill("مرحبا")
    await expect(box).to_have_css("direction", "rtl")
