"""Pools and workers in a browser: from nothing to a pool, tests in place, the order."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def _empty_the_team(team):
    """Leave the team without anything but its people."""
    team.pools.all().delete()
    team.workers.all().delete()
    team.conductors.all().delete()


async def test_team_without_a_pool_comes_to_an_answer(visit, site):
    await runs.in_database(lambda: _empty_the_team(site.cast.team))
    page = (await visit(site.cast.alice)).page
    await page.goto("/pools/")
    await page.get_by_role("link", name="Add your first worker").click()
    await page.get_by_role("link", name="vLLM").click()
    await page.get_by_label("Address").fill(site.simulator_url)
    await page.get_by_role("button", name="List models").click()
    await expect(page.locator("[data-models]")).to_contain_text("models found")
    assert await page.locator("#models option[value=sim-delta]").count() == 1
    await page.get_by_label("Model", exact=True).fill("sim-delta")
    await page.get_by_label("Name", exact=True).fill("first")
    await page.get_by_role("button", name="Save and test").last.click()
    await expect(page.locator(".test")).to_contain_text("Test passed.")
    await page.goto("/")
    await page.get_by_role("radio", name="Mini").check()
    await runs.start(page, "What is 17 * 23 + 4?")
    answer = page.locator("#run-answer .prose")
    await expect(answer).to_contain_text("simulated worker sim-delta")


async def test_worker_is_tested_in_place(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/workers/")
    row = page.locator("tbody", has_text="sim-birch")
    await expect(row.locator(".badge")).to_have_text("Untested")
    await row.get_by_role("button", name="Test sim-birch").click()
    await expect(row.locator(".test")).to_contain_text("Test passed.")
    await expect(row.locator(".badge")).to_have_text("Healthy")
    await expect(page).to_have_url(re.compile(r"/workers/$"))


async def test_worker_moves_up_by_keyboard_and_stays_there(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/pools/")
    await page.locator(".pool h2 a").click()
    await page.wait_for_url("**/pools/*/")  # scripts included
    up = page.get_by_role("button", name="Move sim-birch up")
    await up.focus()
    await page.keyboard.press("Enter")
    await expect(up).to_be_focused()
    names = page.locator(".order__row strong")
    await expect(names).to_have_text(["sim-birch", "sim-delta"])
    await page.get_by_role("button", name="Save", exact=True).last.click()
    await expect(page.locator(".notice")).to_contain_text("is saved as version 2")
    await expect(names).to_have_text(["sim-birch", "sim-delta"])


async def test_everything_works_without_script(visit, site):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await page.goto("/workers/")
    await page.get_by_role("button", name="Test sim-delta").click()
    row = page.locator("tbody", has_text="sim-delta")
    await expect(row.locator(".test")).to_contain_text("Test passed.")
    await page.goto("/pools/")
    await page.locator(".pool h2 a").click()
    await page.get_by_role("button", name="Move sim-birch up").click()
    await expect(page.locator(".callout--warn")).to_contain_text("not saved yet")
    await page.get_by_role("button", name="Save", exact=True).last.click()
    names = page.locator(".order__row strong")
    await expect(names).to_have_text(["sim-birch", "sim-delta"])


async def test_pages_about_pools_fit_a_telephone(visit, site):
    page = (await visit(site.cast.alice, size=PHONE)).page
    pool = await runs.in_database(lambda: site.cast.team.pools.get())
    for url in (
        "/pools/",
        f"/pools/{pool.id}/",
        f"/pools/{pool.id}/history/",
        "/workers/",
        f"/workers/{pool.fallback_id}/",
        "/workers/new/",
        "/workers/new/?provider=openai",
        "/conductors/",
        "/credentials/",
    ):
        await page.goto(url)
        await fits(page)
