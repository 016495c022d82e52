"""List prices in a browser: they follow what is typed, and a click takes them over."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.screens import PHONE, fits
from tests.factories import WorkerFactory
from tests.pools.lists import ACME_URL, keep_list, model_of, priced

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
OFFER = "$2 in · $8 out · $0.50 cached input"


@pytest.fixture
def steady(site, settings):
    """A worker whose list price is known, and is not the team's."""
    cached = priced(input_mtok=2, output_mtok=8, cache_read_mtok=0.5)
    keep_list(settings, cached, model_of("acme-2"))
    return WorkerFactory.create(
        team=site.cast.team, name="steady", base_url=ACME_URL, model="acme-1"
    )


def prices(worker):
    return list(worker.prices.values_list("input_micros", flat=True))


async def amounts(page):
    fields = await page.locator('[name^="price."]').all()
    return [await field.input_value() for field in fields]


async def test_price_follows_what_is_typed_and_is_filled_in(visit, site, steady):
    page = (await visit(site.cast.alice)).page
    await page.goto("/workers/new/?provider=other")
    await page.get_by_label("Address").fill(ACME_URL)
    await page.get_by_label("Key", exact=True).select_option("new")
    await page.get_by_label("New key").fill("sk-canary")
    await page.get_by_label("Model", exact=True).fill("acme-1")
    await page.get_by_label("Model", exact=True).press("Tab")
    offer = page.locator("[data-list-price]")
    await expect(offer).to_contain_text(OFFER)
    await page.get_by_role("button", name="Use it").click()
    assert await amounts(page) == ["2", "8", "0.5"]
    await expect(offer).to_contain_text("save to keep it")
    assert await page.get_by_label("New key").input_value() == "sk-canary"
    await page.get_by_label("Model", exact=True).fill("acme-9")
    await page.get_by_label("Model", exact=True).press("Tab")
    await expect(offer).to_be_hidden()


async def test_saved_worker_takes_it_over_by_a_click(visit, site, steady):
    page = (await visit(site.cast.alice)).page
    await page.goto(f"/workers/{steady.id}/")
    await page.get_by_role("button", name="Use it").click()
    await expect(page.locator(".notice")).to_contain_text("has the list price")
    await expect(page.locator("[data-list-price]")).to_contain_text("is the same")
    assert await runs.in_database(lambda: prices(steady)) == [2_000_000]


async def test_click_keeps_what_was_typed_before_it(visit, site, steady):
    page = (await visit(site.cast.alice)).page
    await page.goto(f"/workers/{steady.id}/")
    await page.get_by_label("What it is good at").fill("Law")
    await page.get_by_role("button", name="Use it").click()
    assert await amounts(page) == ["2", "8", "0.5"]
    assert await runs.in_database(lambda: prices(steady)) == []
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator(".notice")).to_contain_text("is saved")
    assert await runs.in_database(lambda: prices(steady)) == [2_000_000]


async def test_it_works_without_script(visit, site, steady):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await page.goto("/workers/new/?provider=other")
    await page.get_by_label("Address").fill(ACME_URL)
    await page.get_by_label("Model", exact=True).fill("acme-1")
    await page.get_by_label("Key", exact=True).select_option("none")
    await page.get_by_role("button", name="List models").click()
    await page.get_by_role("button", name="Use it").click()
    assert await amounts(page) == ["2", "8", "0.5"]
    await page.goto("/workers/")
    await page.get_by_role("button", name="Use the list price for steady").click()
    await expect(page.locator(".notice")).to_contain_text("has the list price")
    row = page.locator("tbody", has_text="steady")
    await expect(row).to_contain_text("$2 in · $8 out")
    await expect(row).not_to_contain_text("list price")


async def test_pages_with_list_prices_fit_a_telephone(visit, site, steady):
    page = (await visit(site.cast.alice, size=PHONE)).page
    for url in ("/workers/", f"/workers/{steady.id}/"):
        await page.goto(url)
        await expect(page.locator("main")).to_contain_text("$2 in · $8 out")
        await fits(page)
