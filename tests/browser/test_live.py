"""While a run goes on: what runs at once, text as it comes, a page that keeps up."""

from __future__ import annotations

import re

import openai
import pytest
from playwright.async_api import WebSocket, expect

from apps.engine.events import RunCompleted
from tests.browser import runs
from tests.browser.plans import question_with

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TOKENS = 450
STEPS = 5
COUNTED = "".join(f"{n} " for n in range(TOKENS))
"""What a counting worker says."""


async def test_independent_steps_run_at_the_same_moment(visit, site, hire, models):
    await hire("tokens-5-50", "tokens-6-50")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    plan = question_with((0, "One.", []), (1, "Two.", []), (0, "Both.", [0, 1]))
    await runs.start(page, plan)
    both = '#run-body:has(#step-0-0[data-state="running"])'
    await expect(
        page.locator(f'{both} #step-0-1[data-state="running"]')
    ).to_be_attached()
    nodes = page.locator('#run-graph a.node[data-state="running"]')
    await expect(nodes).to_have_count(2)
    await expect(runs.card(page, 2, "waiting")).to_be_attached()
    models.release()
    await runs.ends(page)


async def test_text_shows_before_the_step_is_over(visit, site, hire, models):
    await hire("tokens-200-80")
    models.hold(after=30)
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, question_with((0, "Count.", [])))
    live = runs.card(page, 0, "running").locator("[data-live]")
    await expect(live).to_contain_text("0 1 2 3 4 5")
    await expect(page.locator("#run-answer [data-mirror]")).to_contain_text("0 1 2 3")
    models.release()
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text("198 199")


async def test_page_keeps_up_with_five_steps_and_thousands_of_tokens(visit, site, hire):
    await hire(f"tokens-{TOKENS}-180")
    page = (await visit(site.cast.alice)).page
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    await page.goto("/")
    first = [(0, f"Count {n}.", list[int]()) for n in range(STEPS - 1)]
    await runs.start(page, question_with(*first, (0, "Count.", [0, 1, 2, 3])))
    await page.wait_for_url("**/conversations/**")
    await expect(page.locator('.card--step[data-state="running"]')).to_have_count(4)
    await runs.ends(page)
    assert len(sockets) == 1
    for index in range(STEPS):
        prose = runs.card(page, index, "completed").locator(".prose")
        assert (await prose.text_content() or "").strip() == COUNTED.strip()


async def test_browser_and_client_get_the_same_answer(visit, site):
    question = "What is 12*12, and what is the capital of Italy?"
    async with openai.AsyncOpenAI(base_url=site.api_url, api_key=site.key) as client:
        reply = await client.chat.completions.create(
            model="conductor-ultra", messages=[{"role": "user", "content": question}]
        )
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, question)
    await runs.ends(page)
    shown = await page.locator("#run-answer-source").input_value()
    assert shown == reply.choices[0].message.content
    assert "Rome" in shown


async def test_run_of_a_client_can_be_watched(visit, site, hire, models):
    await hire("tokens-500-100")
    models.hold(after=30)
    page = (await visit(site.cast.bob)).page
    async with openai.AsyncOpenAI(base_url=site.api_url, api_key=site.key) as client:
        stream = await client.chat.completions.create(
            model="worker/tokens-500-100",
            messages=[{"role": "user", "content": "Count."}],
            stream=True,
        )
        chunks = aiter(stream)
        # Text means that the call went out, and that means that it is on record.
        while not (await anext(chunks)).choices[0].delta.content:
            pass
        run = await runs.only_run(site.cast.team)
        await page.goto(f"/runs/{run.id}/")
        live = page.locator('#step-0-0[data-state="running"] [data-live]')
        await expect(live).to_contain_text("0 1 2 3")
        models.release()
        text = "".join([c.choices[0].delta.content or "" async for c in chunks])
    await runs.ends(page)
    end = (await runs.events_of(run))[-1]
    assert isinstance(end, RunCompleted)
    assert end.answer.endswith(text)
    await expect(page.locator("#run-answer .prose")).to_have_text(end.answer.strip())


async def test_p9_time_line_moves_while_a_step_streams(visit, site, hire):
    await hire("tokens-2000-100")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "tokens-2000-100")
    row = page.locator('.timeline__row[data-state="running"]')
    await expect(row.locator(".timeline__time")).to_have_text(
        re.compile(r"^[1-9]\.\d s")
    )
    busy = page.locator("#run-summary .metrics__sub").first
    await expect(busy).to_have_text(re.compile(r"^[2-9]\.\d s of model time"))
    await expect(page.locator("#run-summary")).not_to_contain_text("$0.0000")
    written = re.compile(r"≈ \d\d")
    await expect(page.locator("#run-summary [data-writing]")).to_have_text(written)
    await expect(runs.card(page, 0).locator("[data-writing]")).to_have_text(written)
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")
