"""Conversations as a person has them: follow-ups, variants, names, drafts."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.browser.screens import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ECHO = "worker/echo"
CONVERSATION = re.compile(r"/conversations/[0-9a-f-]{36}/")


async def say(page: Page, prompt: str) -> None:
    """Say something of the model that repeats it, and wait for the answer."""
    await page.get_by_label("Route to").select_option(ECHO)
    await runs.start(page, prompt)
    await expect(page.locator("#now")).to_contain_text(prompt)
    await runs.ends(page)


@pytest.fixture
def echo(site):
    site.add_worker("echo")


async def test_a_person_follows_up_edits_and_goes_back(visit, site, echo):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await say(page, "one")
    await say(page, "two")
    earlier = page.locator(".turns > .turn")
    await expect(earlier).to_have_count(1)
    await expect(earlier.locator(".turn__answer")).to_contain_text("one")
    await expect(page.locator("#now")).to_be_in_viewport()
    await page.locator("#now").get_by_role("link", name="Edit").click()
    await expect(page.get_by_role("textbox", name="Prompt")).to_have_value("two")
    await say(page, "deux")
    await expect(page.locator("#now")).to_contain_text("2 of 2")
    await page.get_by_role("button", name="Earlier variant").click()
    await expect(page.locator("#now .turn__asked")).to_have_text("two")
    await expect(page.locator("#run-answer")).to_contain_text("two")
    await page.locator("#rerun").click()
    await expect(page.locator("#now")).to_contain_text("3 of 3")


async def test_a_turn_can_be_edited_as_soon_as_its_run_is_over(
    visit, site, hire, models
):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    edit = page.locator("#now").get_by_role("link", name="Edit")
    await expect(page.locator("#run-body[data-state=running]")).to_be_attached()
    await expect(edit).to_be_hidden()
    models.release()
    await runs.ends(page)
    await expect(edit).to_be_visible()


async def test_a_conversation_is_named_found_and_deleted(visit, site, echo):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await say(page, "one")
    await page.get_by_label("Name, folder, delete").click()
    await page.get_by_role("textbox", name="Name").fill("Numbers")
    await page.get_by_role("combobox", name="Folder").fill("Work")
    await page.get_by_label("Pinned").check()
    await page.get_by_role("button", name="Save").click()
    listed = page.get_by_role("navigation", name="Conversations").get_by_role("link")
    await expect(listed).to_have_text(["Pinned: NumbersWork"])
    await page.get_by_role("link", name="New chat").click()
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_focused()
    search = page.get_by_role("searchbox", name="Search conversations")
    await search.fill("nothing of this kind")
    await search.press("Enter")
    await expect(page.get_by_text("No conversation matches.")).to_be_visible()
    await page.goto("/?query=numb")
    await listed.click()
    await page.get_by_label("Name, folder, delete").click()
    await page.get_by_role("button", name="Delete conversation").click()
    await expect(page.get_by_text("Its runs stay on record.")).to_be_visible()
    await expect(listed).to_have_count(0)


async def test_a_run_of_a_program_is_continued(visit, site, echo):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await say(page, "one")
    run_id = await page.locator(runs.RUN).get_attribute("data-run-id")
    other = (await visit(site.cast.bob)).page
    await other.goto(f"/runs/{run_id}/")
    await other.get_by_role("link", name="Continue", exact=True).click()
    await expect(other.locator("#now")).to_contain_text("one")
    await say(other, "two")
    await expect(other.locator(".turns > .turn")).to_have_count(1)
    await other.goto(f"/?run={run_id}")
    await expect(other).to_have_url(CONVERSATION)


async def test_what_is_being_written_survives_leaving_the_page(visit, site, echo):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    prompt = page.get_by_role("textbox", name="Prompt")
    await prompt.fill("half a thought")
    await page.goto("/runs/")
    await page.goto("/")
    await expect(prompt).to_have_value("half a thought")
    await say(page, "one")
    await page.get_by_role("link", name="New chat").click()
    await expect(prompt).to_have_value("")


async def test_the_answer_is_on_the_first_screen_of_a_phone(visit, site, echo):
    page = (await visit(site.cast.alice, size=PHONE)).page
    await page.goto("/")
    await say(page, "one")
    answer = page.locator("#run-answer .prose")
    await expect(answer).to_be_in_viewport()
    await page.get_by_role("textbox", name="Prompt").scroll_into_view_if_needed()
    await expect(answer).not_to_be_in_viewport()
    await say(page, "two")
    await expect(answer).to_be_in_viewport()
    await expect(page.get_by_role("link", name="New chat")).to_be_hidden()
    await page.get_by_role("link", name="Conversations", exact=True).click()
    await expect(page.get_by_role("link", name="New chat")).to_be_visible()
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width == PHONE[0]
