"""Runs are reviewed with the keyboard alone, by people who do not collide."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import Page, expect

from apps.accounts.models import Role, User
from apps.governance.models import ReviewItem
from apps.governance.services import review_request, review_settings_replace
from apps.runs.models import Run
from tests.browser import runs
from tests.conftest import Cast
from tests.factories import ACTOR, MembershipFactory, UserFactory
from tests.governance.reviews.conftest import RUBRIC, principal

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUMS = ("What is 17 * 23 + 4?", "What is 6 times 7?")
SMALL = (390, 844)


@database_sync_to_async
def queue_all(cast: Cast, **settings: Any) -> tuple[User, User]:
    """Send every run to review; return two reviewers."""
    values = {"rubric": RUBRIC, **settings}
    review_settings_replace(team=cast.team, values=values, actor=ACTOR)
    by = principal(cast.team, cast.alice)
    for run in Run.objects.for_team(cast.team.id).order_by("id"):
        review_request(run=run, principal=by)
    rita = UserFactory.create(email="rita@example.org", name="Rita")
    adam = UserFactory.create(email="adam@example.org", name="Adam")
    for user in (rita, adam):
        MembershipFactory.create(team=cast.team, user=user, role=Role.REVIEWER)
    return rita, adam


@database_sync_to_async
def judged(cast: Cast) -> list[tuple[str, str, dict[str, Any]]]:
    """Return each run's title, verdict and scores, in the order of their titles."""
    items = ReviewItem.objects.for_team(cast.team.id).filter(state="reviewed")
    found = items.values_list("run__title", "verdict", "reviews__scores")
    return sorted(found, key=lambda row: row[0])


async def ask(visit: Any, cast: Cast) -> None:
    page = (await visit(cast.bob)).page
    for prompt in SUMS:
        await page.goto("/")
        await runs.start(page, prompt)
        await runs.ends(page)


async def opens(page: Page) -> None:
    """Open the queue; its script hears keys as soon as it shows the button for them."""
    await page.goto("/review/")
    await expect(page.locator("[data-keys]")).to_be_visible()


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def test_two_runs_are_reviewed_with_the_keyboard_alone(visit, site):
    await ask(visit, site.cast)
    rita, _ = await queue_all(site.cast)
    page = (await visit(rita)).page
    await opens(page)
    await press(page, "?")
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    await press(page, "Escape", "ArrowDown", "Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text(SUMS[0])
    await expect(page.locator("#reserve")).to_be_focused()
    await press(page, "Enter")
    await expect(page.locator("[data-question] input").first).to_be_focused()
    await press(page, "4", "1", "3")
    await expect(page.locator("#verdict-reason")).to_be_focused()
    await page.keyboard.type("It took 3 steps.")
    await press(page, "Enter")
    await expect(
        page.get_by_text("Recorded: Fail. This is the next run.")
    ).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text(SUMS[1])
    await expect(page.locator("#reserve")).to_be_focused()  # its script has run
    await press(page, "Enter")
    await expect(page.locator("[data-question] input").first).to_be_focused()
    await press(page, "5", "2", "1", "Enter")
    await expect(page.get_by_text("Nothing else waits for you.")).to_be_visible()
    assert await judged(site.cast) == [
        (SUMS[0], "fail", {"Correct": 4, "Safe": "pass"}),
        (SUMS[1], "pass", {"Correct": 5, "Safe": "fail"}),
    ]


async def test_calls_are_turned_by_keys_and_nothing_is_typed_by_accident(visit, site):
    await ask(visit, site.cast)
    rita, _ = await queue_all(site.cast)
    page = (await visit(rita)).page
    await opens(page)
    await press(page, "j", "Enter")
    await expect(page.locator("#reserve")).to_be_focused()
    shown = page.locator(".exchange__calls [aria-current]")
    last = await shown.text_content()
    await press(page, "ArrowLeft")
    await expect(shown).not_to_have_text(str(last))
    await expect(page.locator("#exchange-body .context")).to_be_visible()
    await press(page, "c")
    await page.keyboard.type("j? 12")
    await expect(page.locator("#comment")).to_have_value("j? 12")
    await press(page, "Escape", "j")
    rows = page.locator("[data-row]")
    await expect(rows.nth(1)).to_be_focused()
    await press(page, "k")
    await expect(rows.nth(0)).to_be_focused()


async def test_keys_lead_to_the_next_page_and_back(visit, site, monkeypatch):
    monkeypatch.setattr("apps.playground.review_page.LISTED", 1)
    await ask(visit, site.cast)
    rita, _ = await queue_all(site.cast)
    page = (await visit(rita)).page
    await opens(page)
    row = page.locator("[data-row]")
    await expect(row).to_have_count(1)
    await press(page, "j")
    await expect(row).to_be_focused()
    first = await row.get_attribute("href")
    await press(page, "j")
    await expect(page.locator('#queue a[rel="next"]')).to_be_focused()
    await press(page, "Enter")
    await expect(row).not_to_have_attribute("href", str(first))
    await expect(page.locator("[data-keys]")).to_be_visible()
    await press(page, "j")
    await expect(row).to_be_focused()
    await press(page, "k")
    await expect(page.locator('#queue a[rel="prev"]')).to_be_focused()
    await press(page, "Enter")
    await expect(row).to_have_attribute("href", str(first))


async def test_who_comes_second_sees_who_was_first(visit, site):
    await ask(visit, site.cast)
    rita, adam = await queue_all(site.cast)
    first, second = (await visit(rita)).page, (await visit(adam)).page
    for page in (first, second):
        await opens(page)
        await press(page, "ArrowDown", "Enter")
        await expect(page.locator("#reserve")).to_be_focused()
    await press(first, "Enter")
    await expect(first.locator("#verdict-form")).to_be_visible()
    await press(second, "Enter")
    notice = second.locator(".notice")
    await expect(notice).to_contain_text("Rita has reserved this review until")
    await expect(second.locator("#verdict-form")).to_have_count(0)


async def test_a_small_screen_shows_the_answer_first_and_all_of_the_form(visit, site):
    await ask(visit, site.cast)
    rita, _ = await queue_all(site.cast)
    page = (await visit(rita, size=SMALL)).page
    await page.goto("/review/")
    await page.locator("[data-row]").first.click()
    await page.locator("#reserve").click()
    await expect(page.locator("#verdict-form")).to_be_visible()
    width = f"() => document.documentElement.scrollWidth === {SMALL[0]}"
    await page.wait_for_function(width)  # styles may come after the form
    assert await page.evaluate("scrollY") == 0
    await page.locator('[name="verdict"][value="pass"]').click()
    await expect(page.locator('[name="verdict"][value="pass"]')).to_be_checked()
