"""The first minutes: sign in, try a sample, look at the record, trust it."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from apps.audit.models import Entry
from apps.engine.events import PlanAccepted, RunCompleted
from tests.browser import runs
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"


async def test_new_person_signs_in_and_runs_a_sample_with_the_keyboard(visit, site):
    page = (await visit(None)).page
    await page.goto("/")
    await page.get_by_label("Email").fill("alice@example.org")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("/")  # scripts included: before them a chip does nothing
    sample = page.locator("[data-prompt]").first
    words = await sample.get_attribute("data-prompt")
    await sample.click()
    await expect(page.get_by_role("textbox", name="Prompt")).to_have_value(words)
    await page.keyboard.press("Control+Enter")
    await runs.ends(page)
    run = await runs.only_run(site.cast.team)
    assert (run.title, run.actor_name) == (words, "Alice")


async def test_page_shows_what_the_ledger_says(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    drawn = await page.locator("#run-graph path.edge").evaluate_all(
        "edges => edges.map(e => [Number(e.dataset.from), Number(e.dataset.to)])"
    )
    events = await runs.events_of(await runs.only_run(site.cast.team))
    access = next(e.access for e in events if isinstance(e, PlanAccepted))
    allowed = [(source, step) for step, seen in enumerate(access) for source in seen]
    assert sorted(map(tuple, drawn)) == sorted(allowed) != []
    assert isinstance(events[-1], RunCompleted)
    assert await page.locator("#run-answer-source").input_value() == events[-1].answer


async def test_finished_run_shows_answer_steps_and_cost(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose strong").first).to_contain_text("395")
    await expect(page.locator("#run-cards .card--step")).to_have_count(3)
    await expect(page.locator('.card--step[data-state="completed"]')).to_have_count(3)
    cost = page.locator("#run-summary dl > div").filter(has_text="Cost")
    await expect(cost.locator("dd").first).to_have_text(re.compile(r"\$0\.0*[1-9]"))


async def test_run_survives_a_reload_and_is_in_the_list(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    await page.reload()
    await expect(page.locator("#run-answer .prose")).to_contain_text("395")
    await page.get_by_role("link", name="Runs", exact=True).click()
    row = page.locator("tr.row")
    await expect(row).to_have_attribute("data-state", "completed")
    await expect(row).to_contain_text(SUM)


async def test_verification_names_what_was_changed(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, SUM)
    await runs.ends(page)
    await runs.open_record(page)
    verdict = page.locator(".verification")
    await page.get_by_role("button", name="Verify").click()
    await expect(verdict).to_contain_text("chain intact")
    seq = await runs.in_database(lambda: _forge(site.cast.team))
    await page.get_by_role("button", name="Verify").click()
    await expect(verdict).to_have_attribute("data-ok", "false")
    await expect(verdict).to_contain_text(f"Entry #{seq} is not what was recorded")


def _forge(team) -> int:
    """Change one recorded entry behind the product's back; return its number."""
    entries = Entry.objects.for_team(team.id)
    entry = entries.filter(action="step.completed").order_by("seq").first()
    assert entry is not None
    forged = bytes(entry.canonical).replace(b'"round":0', b'"round":7')
    assert forged != bytes(entry.canonical)
    entries.filter(seq=entry.seq).update(canonical=forged)
    return entry.seq
