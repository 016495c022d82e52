"""T3: an answer that is hard to draw keeps neither the page nor its reader waiting."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.plans import say
from tests.playground import heavy, stories
from tests.playground.conftest import record_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MAX_CPU_S = 10.0
"""For a whole page with the text in four places. Drawn as other texts are, the slowest
of these took more than 40 s on a quick machine."""
LENGTH = 180_000
HEAVY = {
    **{name: heavy.repeated(name, LENGTH) for name in heavy.SHAPES},
    "a table": heavy.table(2 * heavy.MEGABYTE),
    "a sparse table": heavy.sparse_table(2_000, 20_000),
}
WATCHED = {
    "backslashes": HEAVY["backslashes"],
    "link starts": HEAVY["link starts"],
    # Shorter: to write it into the prompt's box costs the browser its length squared.
    "mixed scripts": heavy.repeated("mixed scripts", 30_000),
}


async def _recorded(site: Any, text: str) -> Any:
    team, entries = site.cast.team, stories.answered(text)
    return await runs.in_database(
        lambda: record_run(team, entries, finished_at=stories.START)
    )


async def _cpu_s(page: Any, action: Any) -> float:
    """Return how much processor time a page's thread needs for `action` and to draw."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = await _busy_s(session)
    await action
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => done()))")
    after = await _busy_s(session)
    await session.detach()
    return after - before if after >= before else after  # a new process counts anew


async def _busy_s(session: Any) -> float:
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    values = {each["name"]: float(each["value"]) for each in metrics}
    return values["TaskDuration"]


@pytest.mark.parametrize("name", HEAVY)
async def test_t3_page_with_a_heavy_answer_opens_at_once(visit, site, name):
    run = await _recorded(site, HEAVY[name])
    page = (await visit(site.cast.alice)).page
    await page.goto("/runs/")
    assert 0 < await _cpu_s(page, page.goto(f"/runs/{run.id}/")) < MAX_CPU_S
    await expect(page.locator("#run-answer .piece").first).to_be_visible()


async def test_t3_formatting_is_shown_on_request(visit, site):
    run = await _recorded(site, HEAVY["a table"])
    page = (await visit(site.cast.alice)).page
    await page.goto(f"/runs/{run.id}/")
    answer = page.locator("#run-answer .prose")
    await expect(answer.locator("table")).to_have_count(0)
    link = answer.get_by_role("link", name="Show formatted")
    assert 0 < await _cpu_s(page, link.click()) < MAX_CPU_S
    await expect(answer.locator("table")).to_have_count(1)
    await expect(answer).to_be_focused()
    await expect(answer.locator(".hint")).to_contain_text("The rest is shown")


@pytest.mark.parametrize("name", WATCHED)
async def test_t3_heavy_answer_can_be_watched_as_it_comes(visit, site, hire, name):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(WATCHED[name]))
    await runs.ends(page)
    shown = await page.locator("#run-answer-source").text_content()
    assert shown == WATCHED[name]
