"""The list of runs: filters act while they are typed, and rows keep up."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import expect

from apps.runs.models import Run, RunState
from tests.browser.screens import PHONE, fits
from tests.conftest import Site
from tests.rest.things import make_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
make = database_sync_to_async(make_run)


@database_sync_to_async
def end(site: Site, run_id: Any) -> None:
    runs = Run.objects.for_team(site.cast.team.id).filter(id=run_id)
    runs.update(state=RunState.FAILED)


async def test_filter_acts_while_it_is_typed_and_keeps_the_focus(
    site: Site, visit: Any
) -> None:
    await make(site.cast, actor_name="Zoe", title="by Zoe")
    await make(site.cast, title="by Alice")
    page = (await visit(site.cast.bob)).page
    await page.goto("/runs/")
    await page.get_by_label("Person or key").press_sequentially("zo")
    await expect(page.get_by_role("link", name="by Alice")).to_have_count(0)
    await expect(page.get_by_role("link", name="by Zoe")).to_be_visible()
    await expect(page.get_by_label("Person or key")).to_be_focused()
    assert page.url.endswith("/runs/?source=callers&who=zo")


async def test_run_started_elsewhere_appears_and_its_state_changes(
    site: Site, visit: Any
) -> None:
    await make(site.cast, title="an older one")
    page = (await visit(site.cast.bob)).page
    await page.goto("/runs/")
    link = page.get_by_role("link", name="an older one")
    await link.focus()
    run_id = await make(site.cast, title="a newer one")
    row = page.locator(f"[data-run-id='{run_id}']")
    await expect(row).to_have_attribute("data-state", "completed")
    await expect(link).to_be_focused()
    await end(site, run_id)
    await expect(row).to_have_attribute("data-state", "failed")


async def test_phone_shows_the_first_run_and_folds_the_filters(
    site: Site, visit: Any
) -> None:
    await make(site.cast, title="the first")
    page = (await visit(site.cast.bob, size=PHONE)).page
    await page.goto("/runs/")
    row = await page.locator("tr.row").bounding_box()
    assert row is not None
    assert row["y"] < 0.45 * PHONE[1]
    state = page.locator("#state")
    await expect(state).to_be_hidden()
    await page.get_by_text("Filters", exact=True).press("Enter")
    await state.select_option("failed")
    await expect(page.get_by_text("Filters (1)")).to_be_visible()
    await expect(state).to_be_visible()
    await fits(page)


async def test_wide_page_shows_the_filters_without_a_fold(
    site: Site, visit: Any
) -> None:
    page = (await visit(site.cast.bob)).page
    await page.goto("/runs/?state=failed")
    await expect(page.locator("#state")).to_be_visible()
    await expect(page.get_by_text("Filters (1)")).to_be_hidden()


async def test_runs_are_selected_and_tagged_by_keyboard(site: Site, visit: Any) -> None:
    await make(site.cast, title="one")
    await make(site.cast, title="two")
    page = (await visit(site.cast.bob)).page
    await page.goto("/runs/")
    bar = page.get_by_role("form", name="Selected runs")
    await expect(bar).to_be_hidden()
    await page.get_by_role("checkbox", name="Select “one”").press("Space")
    await page.get_by_role("checkbox", name="Select “two”").press("Enter")
    await expect(bar.get_by_role("status")).to_have_text("2 runs selected")
    await bar.get_by_label("Tags").fill("checked")
    await bar.get_by_label("Tags").press("Enter")
    await expect(page.get_by_text("2 runs were tagged.")).to_be_visible()
    await expect(page.locator("tr.row .label")).to_have_text(["checked", "checked"])
    await expect(bar).to_be_hidden()


async def test_selection_outlives_a_change_of_its_run(site: Site, visit: Any) -> None:
    run_id = await make(site.cast, title="one")
    page = (await visit(site.cast.bob)).page
    await page.goto("/runs/")
    await page.get_by_label("Select all runs on this page").check()
    await end(site, run_id)
    row = page.locator(f"[data-run-id='{run_id}']")
    await expect(row).to_have_attribute("data-state", "failed")
    await expect(row.get_by_role("checkbox")).to_be_checked()


async def test_bar_of_a_selection_fits_a_phone(site: Site, visit: Any) -> None:
    await make(site.cast, title="one")
    page = (await visit(site.cast.alice, size=PHONE)).page
    await page.goto("/runs/")
    await page.get_by_role("checkbox", name="Select “one”").check()
    bar = page.get_by_role("form", name="Selected runs")
    await bar.get_by_text("Export").click()
    await expect(bar.get_by_role("button", name="CSV")).to_be_in_viewport(ratio=1)
    await fits(page)
    await page.keyboard.press("Escape")
    await bar.get_by_role("button", name="Clear").click()
    await expect(bar).to_be_hidden()
