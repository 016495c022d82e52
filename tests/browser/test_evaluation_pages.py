"""The pages of evaluations fit a telephone, in both themes, and lead to runs."""

from __future__ import annotations

import re

import pytest
from channels.db import database_sync_to_async
from django.urls import reverse
from playwright.async_api import Page, expect

from apps.evaluation.models import SuiteVersion
from tests.browser import runs
from tests.browser.screens import PHONE, fits
from tests.conftest import Site
from tests.evaluation.made_up import STATES, made_up_evaluation
from tests.evaluation.samples import documents, suite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
LONG = "A prompt with one word that is far too long: " + "x" * 300


def _made(site: Site) -> tuple[SuiteVersion, str, str]:
    """Add two evaluations of a suite; return it, and their addresses."""
    tasks = documents()
    tasks[0]["prompt"] = LONG
    version = suite(site.cast.team, tasks)
    better = (("right",) * 10, *STATES[1:])
    made = [
        made_up_evaluation(site.cast.team, version, states, has_simulated_pool=True)
        for states in (STATES, better)
    ]
    first, second = (f"/evaluations/{evaluation.id}/" for evaluation in made)
    return version, first, second


async def _fits(page: Page, address: str) -> None:
    await page.goto(address)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await fits(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_report_fits_a_telephone(visit, site, theme):
    _, address, _ = await database_sync_to_async(_made)(site)
    page = (await visit(site.cast.vera, size=PHONE, color_scheme=theme)).page
    await _fits(page, address)
    details = page.locator("details.bars")
    await details.evaluate_all("all => all.forEach(each => (each.open = true))")
    await fits(page)
    await expect(page.get_by_text("Simulated.").first).to_be_visible()
    await expect(page.locator(".plot__point")).to_have_count(3)
    color = await page.locator(".shade").first.evaluate("e => getComputedStyle(e).fill")
    assert re.match(r"rgb\((?!0, 0, 0\))", color)


async def test_lists_behind_a_report_fit_a_telephone(visit, site):
    version, first, second = await database_sync_to_async(_made)(site)
    page = (await visit(site.cast.alice, size=PHONE)).page
    await _fits(page, f"{first}results/?system=0")
    await _fits(page, f"{first}comparison/?with={second.split('/')[2]}")
    await expect(page.locator(".slope")).to_have_count(3)
    await _fits(page, reverse("console:suite", args=[version.suite_id]))
    await expect(page.get_by_text(LONG)).to_be_visible()


async def test_a_point_of_the_plot_leads_to_runs(visit, site):
    _, address, _ = await database_sync_to_async(_made)(site)
    page = (await visit(site.cast.vera)).page
    await page.goto(address)
    await page.locator(".plot [data-product] circle").click()
    await expect(page.get_by_text("10 results")).to_be_visible()
    await page.wait_for_load_state()  # the script that submits has run
    await page.get_by_label("Plan").select_option("rejected")
    await expect(page.get_by_text("1 result", exact=True)).to_be_visible()


async def test_a_calibration_and_a_fork_fit_a_telephone(visit, site):
    await database_sync_to_async(suite)(site.cast.team)
    page = (await visit(site.cast.alice, size=PHONE)).page
    pool = await site.cast.team.pools.aget(is_default=True)
    await _fits(page, reverse("console:calibration_new", args=[pool.id]))
    await page.goto("/")
    await runs.start(page, "What is 17 * 23 + 4?")
    await runs.ends(page)
    await runs.open_record(page)
    run_id = re.search(r"/runs/([0-9a-f-]{36})", page.url)
    assert run_id is not None
    fork = reverse("playground:step_fork", args=[run_id[1], 0, 0])
    await _fits(page, fork)
