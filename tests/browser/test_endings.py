"""Runs that are stopped, that fail or that nobody could plan: the page says so."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.plans import question_with

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ANSWERED = "simulated worker sim-delta"


async def test_escape_stops_the_run_and_keeps_what_is_on_record(visit, site, hire):
    await hire("instant", "tokens-2000-100")
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, question_with((0, "Quick.", []), (1, "Slow.", [0])))
    live = runs.card(page, 1, "running").locator("[data-live]")
    await expect(live).to_contain_text("0 1 2")
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")
    await expect(page.locator("#run-answer")).to_contain_text("topped by Alice")
    await expect(runs.card(page, 0, "completed").locator(".prose")).to_have_text("ok")
    await expect(runs.card(page, 1, "cancelled")).to_be_visible()
    await expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    assert (await runs.only_run(site.cast.team)).state == "cancelled"


async def test_stop_button_of_the_run_page_stops_it(visit, site, hire):
    await hire("delay-60000")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "delay-60000")
    await expect(runs.card(page, 0, "running")).to_be_visible()
    await runs.open_record(page)
    await page.get_by_role("button", name="Stop").click()
    await runs.ends(page, "cancelled")
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.locator("#run-entries .entry").last).to_contain_text(
        "run.cancelled"
    )


async def test_failed_run_says_why_without_a_stack_trace(visit, site, hire):
    await hire("fault-500")
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, question_with((0, "Try.", [])))
    await runs.ends(page, "failed")
    fault = page.get_by_role("alert").filter(has_text="Code:")
    await expect(fault).to_be_visible()
    words = await page.locator("main").inner_text()
    assert "Traceback" not in words
    assert 'File "' not in words
    await expect(runs.card(page, 0, "failed")).to_be_visible()


async def test_prose_instead_of_a_plan_leads_to_a_labelled_fallback(visit, site):
    await runs.in_database(lambda: site.set_conductor("sim-conductor-prose"))
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, "What is the capital of Italy?")
    await runs.ends(page)
    await expect(page.locator("#plan-0")).to_contain_text("fallback plan")
    await expect(page.locator("#run-answer .prose")).to_contain_text(ANSWERED)


async def test_refused_prompt_is_explained_and_kept(visit, site, settings):
    settings.MAX_PROMPT_BYTES = 20
    seen = await visit(site.cast.alice)
    seen.guard.expect("status of 400")
    page = seen.page
    await page.goto("/")
    await runs.start(page, "This prompt is longer than that.")
    await expect(page.locator("#composer-error")).to_contain_text("20 fit")
    box = page.get_by_role("textbox", name="Prompt")
    await expect(box).to_have_value("This prompt is longer than that.")


async def test_rerun_starts_another_run_with_the_same_prompt(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, "What is the capital of Italy?")
    await runs.ends(page)
    first = await page.locator(runs.RUN).get_attribute("data-run-id")
    await page.get_by_role("button", name="Re-run").click()
    await expect(page.locator(runs.RUN)).not_to_have_attribute("data-run-id", first)
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text(ANSWERED)
