"""The bell: by the keyboard, with its news said, and the list on every screen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from channels.db import database_sync_to_async
from django.utils import timezone
from playwright.async_api import expect

from apps.alerts.models import Alert
from tests.alerts.examples import make_alert
from tests.browser.screens import PHONE
from tests.browser.test_axe import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
open_alert = database_sync_to_async(make_alert)


@database_sync_to_async
def close_all(cast) -> None:
    alerts = Alert.objects.for_team(cast.team.id)
    alerts.update(closed_at=timezone.now())


async def test_the_bell_says_what_opens_and_closes_without_a_reload(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.clock.install()
    await page.goto("/docs/")
    bell = page.locator("#bell summary")
    await expect(bell).to_have_accessible_name("Alerts, no open alert")
    await open_alert(site.cast.team, "Daily budget")
    await page.clock.run_for(16_000)
    await expect(bell).to_have_accessible_name("Alerts, 1 open alert")
    news = page.locator("#bell-news")
    await expect(news).to_have_text("1 open alert")
    await close_all(site.cast)
    await page.clock.run_for(16_000)
    await expect(bell).to_have_accessible_name("Alerts, no open alert")
    await expect(news).to_have_text("No open alert")


async def test_the_bell_works_by_the_keyboard_and_keeps_its_place(visit, site):
    await open_alert(site.cast.team, "Daily budget")
    page = (await visit(site.cast.alice)).page
    await page.clock.install()
    await page.goto("/runs/")
    bell = page.locator("#bell summary")
    await bell.focus()
    await page.keyboard.press("Enter")
    item = page.get_by_role("link", name="Daily budget")
    await expect(item).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(item).to_be_focused()
    await open_alert_of_workers(site.cast)
    await page.clock.run_for(16_000)
    await expect(page.locator("#bell li")).to_have_count(2)
    await expect(item).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(item).to_be_hidden()
    await expect(bell).to_be_focused()


@database_sync_to_async
def open_alert_of_workers(cast) -> None:
    Alert.objects.create(
        team=cast.team,
        kind="runs",
        severity="critical",
        figures={"percent": 90, "count": 9, "total": 10, "minutes": 15},
        opened_at=timezone.now(),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_an_open_bell_is_accessible_and_fits_a_phone(visit, site, scheme):
    await open_alert(site.cast.team, "Daily budget of the " + "whole " * 12 + "team")
    page = (await visit(site.cast.alice, PHONE, color_scheme=scheme)).page
    await page.goto("/alerts/")
    await page.locator("#bell summary").click()
    box = await page.locator("#bell .menu__panel").bounding_box()
    assert box is not None
    assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE[0]
    await page.evaluate(AXE_SCRIPT)
    assert await page.evaluate(FAULTS, []) == []


async def test_an_alert_is_acknowledged_without_a_script(visit, site):
    await open_alert(site.cast.team, "Daily budget")
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await page.goto("/alerts/")
    await page.get_by_role("button", name="Acknowledge: Daily budget").click()
    await expect(page.get_by_text("By Alice")).to_be_visible()
    await page.goto("/alerts/?state=waiting")
    await expect(page.get_by_role("heading", name="All clear")).to_be_visible()


async def test_a_bell_without_a_server_asks_less_often_and_resumes_when_looked_at(
    visit, site
):
    seen = await visit(site.cast.alice)
    seen.guard.expect("ERR_FAILED")
    page = seen.page
    await page.clock.install()
    await page.goto("/docs/")
    # From here on the page's clock goes only where the test moves it.
    await page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=5))
    asked = 0
    is_down = True

    async def answer(route) -> None:
        nonlocal asked
        asked += 1
        await (route.abort() if is_down else route.continue_())

    await page.route("**/alerts/bell/", answer)
    gaps = []
    for number in range(1, 6):
        async with page.expect_event("requestfailed"):
            gaps.append(
                await seconds_until(page, lambda number=number: asked == number)
            )
    for gap, wait_s in zip(gaps[1:], (30, 60, 120, 240), strict=True):
        assert wait_s <= gap < 2 * wait_s
    await page.clock.run_for(3_600_000)
    assert asked == 5
    is_down = False
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await seconds_until(page, lambda: asked == 6)
    assert await seconds_until(page, lambda: asked == 7) >= 14


async def seconds_until(page, is_met) -> int:
    """Move the page's clock on by seconds until something is so; return how many."""
    for seconds in range(600):
        if is_met():
            return seconds
        await page.clock.run_for(1_000)
        # An answer of the server, or its absence, takes a moment of its own.
        await page.evaluate("fetch('/healthz')")
    raise AssertionError("it did not come to that")
