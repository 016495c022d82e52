"""Notices of what came of a request: over the page, closed by hand or by themselves."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def save_name(page, name):
    await page.goto("/account/")
    await page.locator('[name="name"]').fill(name)
    await page.get_by_role("button", name="Save name").click()


async def test_success_moves_nothing_and_closes_by_itself(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.clock.install()
    await page.goto("/account/")
    top = await page.get_by_role("heading", level=1).bounding_box()
    await save_name(page, "Alice B.")
    notice = page.get_by_role("status").filter(has_text="Your name is saved.")
    await expect(notice).to_be_visible()
    assert await page.get_by_role("heading", level=1).bounding_box() == top
    await page.clock.run_for(9_000)
    await expect(notice).to_have_count(0)


async def test_notice_closes_with_its_button(visit, site):
    page = (await visit(site.cast.alice)).page
    await save_name(page, "Alice C.")
    await page.get_by_role("button", name="Close this message").press("Enter")
    await expect(page.locator(".notices")).to_have_count(0)


async def test_error_stays(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.clock.install()
    await page.goto("/team/leave/")
    await page.get_by_role("button", name="Leave").click()
    notice = page.get_by_role("alert").filter(has_text="owner")
    await expect(notice).to_be_visible()
    await page.clock.run_for(60_000)
    await expect(notice).to_be_visible()


async def test_without_a_script_it_is_part_of_the_page(visit, site):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await save_name(page, "Alice D.")
    notice = page.locator(".notice")
    await expect(notice).to_contain_text("Your name is saved.")
    await expect(notice.get_by_role("button")).to_have_count(0)
    assert await notice.evaluate("e => getComputedStyle(e.parentElement).position") == (
        "static"
    )
