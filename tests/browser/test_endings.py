"""Runs that are stopped, that fail or that nobody could plan: the page says so."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from apps.budgets.services import budget_create
from tests.browser import runs
from tests.browser.plans import question_with
from tests.factories import ACTOR

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ANSWERED = "simulated worker sim-delta"


async def test_escape_stops_the_run_and_keeps_what_is_on_record(
    visit, site, hire, models
):
    await hire("instant", "tokens-200-100")
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    models.hold(after=30)
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


async def test_prompt_that_is_too_long_is_refused_as_it_is_typed(visit, site, settings):
    settings.MAX_PROMPT_BYTES = 20
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    await page.get_by_role("textbox", name="Prompt").fill(
        "This prompt is longer than that."
    )
    run = page.get_by_role("button", name="Run", exact=True)
    await expect(run).to_be_disabled()
    await expect(page.locator("#composer-error")).to_have_text(
        "The prompt is too long: 32 bytes (limit 20 bytes)."
    )
    box = page.get_by_role("textbox", name="Prompt")
    await expect(box).to_have_value("This prompt is longer than that.")
    await box.fill("This one fits.")
    await expect(run).to_be_enabled()
    await expect(page.locator("#composer-error")).to_be_hidden()


async def test_refusal_for_a_missing_price_leads_to_its_field(visit, site):
    def budget_without_price() -> None:
        site.cast.team.workers.get(name="sim-birch").prices.all().delete()
        values = {"kind": "team", "period": "month", "limit_usd": "5"}
        budget_create(team=site.cast.team, values=values, actor=ACTOR)

    await runs.in_database(budget_without_price)
    visitor = await visit(site.cast.alice)
    visitor.guard.expect("status of 400 .*/playground/runs/")
    page = visitor.page
    await page.goto("/")
    await runs.start(page, "What is the capital of Italy?")
    refusal = page.locator("#composer-error")
    await expect(refusal).to_contain_text(
        "the price of worker 'sim-birch' is unknown: fill in Price"
    )
    await refusal.get_by_role("link", name="Add prices").click()
    await page.get_by_role("link", name="sim-birch").click()
    await expect(page.locator("[id='id_price.input_usd']")).to_be_in_viewport()


async def test_rerun_starts_another_run_with_the_same_prompt(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, "What is the capital of Italy?")
    await runs.ends(page)
    first = await page.locator(runs.RUN).get_attribute("data-run-id")
    await page.get_by_role("button", name="Ask again").click()
    await expect(page.locator(runs.RUN)).not_to_have_attribute("data-run-id", first)
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text(ANSWERED)


async def test_run_without_a_plan_says_so_in_yellow_at_the_top(visit, site):
    await runs.in_database(lambda: site.set_conductor("sim-conductor-prose"))
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, "What is the capital of Italy?")
    await runs.ends(page)
    badge = page.locator('#run-summary .badge[data-state="unplanned"]')
    await expect(badge).to_have_text("Answered without a plan")
    await expect(badge).to_be_in_viewport()
    note = page.locator('#run-answer .fault[data-level="warn"]')
    await expect(note).to_contain_text("Answered without a plan")


async def test_p10_keys_start_no_second_run_while_one_goes_on(visit, site, hire):
    await hire("delay-60000")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "delay-60000")
    await expect(runs.card(page, 0, "running")).to_be_visible()
    first = await page.locator(runs.RUN).get_attribute("data-run-id")
    await page.get_by_role("textbox", name="Prompt").focus()
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#busy")).to_be_hidden()  # there is no prompt to send
    await page.get_by_role("textbox", name="Prompt").fill("A second prompt.")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#busy")).to_contain_text("A run is in progress.")
    await page.get_by_role("button", name="Cancel", exact=True).click()
    await expect(page.locator("#busy")).to_be_hidden()
    assert await page.locator(runs.RUN).get_attribute("data-run-id") == first
    assert str((await runs.only_run(site.cast.team)).id) == first
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")
    await expect(page.locator("#composer-error")).to_be_hidden()


async def test_p11_failed_run_keeps_what_was_received_and_offers_a_retry(
    visit, site, hire, models
):
    await hire("tokens-200-100")
    models.hold(after=30)
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "tokens-200-100")
    await expect(page.locator("#run-answer [data-mirror]")).to_contain_text("0 1 2 3")
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")
    partial = page.locator("#run-answer [data-partial]")
    await expect(partial).to_contain_text("0 1 2 3")
    await expect(partial).to_contain_text("not recorded")


async def test_p11_retry_stands_beside_the_error(visit, site, hire):
    await hire("fault-500")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "fault-500")
    await runs.ends(page, "failed")
    alert = page.get_by_role("alert").filter(has_text="Code:")
    workers = alert.get_by_role("link", name="Check worker")
    await expect(workers).to_have_attribute("href", re.compile("^/workers/.+/$"))
    first = await page.locator(runs.RUN).get_attribute("data-run-id")
    await alert.get_by_role("link", name="Retry").click()
    await expect(page.locator(runs.RUN)).not_to_have_attribute("data-run-id", first)
    await runs.ends(page, "failed")


async def test_p12_lost_network_is_said_at_once_and_stop_is_sent_until_it_arrives(
    visit, site, hire
):
    await hire("delay-60000")
    seen = await visit(site.cast.alice)
    seen.guard.expect("ERR_INTERNET_DISCONNECTED")
    page = seen.page
    await runs.ask_worker(page, "delay-60000")
    await expect(runs.card(page, 0, "running")).to_be_visible()
    link = page.locator("#run-link")
    await seen.context.set_offline(True)
    await expect(link).to_contain_text("Connection lost", timeout=2_000)
    await page.get_by_role("button", name="Stop").click()
    await expect(link).to_contain_text("Stop is sent again until it arrives")
    await seen.context.set_offline(False)
    await runs.ends(page, "cancelled")
