"""German, chosen on the account page or in the menu, and what scripts say in it."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
CUT_OFF = """() => [...document.querySelectorAll(".topbar :is(a, button, summary)")]
  .filter((e) => e.offsetParent)
  .filter((e) => e.scrollWidth > e.clientWidth + 1
    || e.getBoundingClientRect().right > document.documentElement.clientWidth)
  .map((e) => e.textContent.trim())"""


async def choose_german(page):
    await page.goto("/account/")
    await page.get_by_label("Language of the pages").select_option("Deutsch")
    await page.get_by_role("button", name="Save language").click()
    await expect(page.get_by_text("Ihre Sprache ist gespeichert.")).to_be_visible()


@pytest.mark.release
async def test_pages_turn_german_on_the_account_page(visit, site):
    page = (await visit(site.cast.alice)).page
    await choose_german(page)
    await page.goto("/home/")
    await expect(page.locator("html")).to_have_attribute("lang", "de")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Übersicht")
    main = page.get_by_role("navigation", name="Hauptnavigation")
    await expect(main.get_by_role("link", name="Läufe")).to_be_visible()
    await expect(page.get_by_text("Läufe heute", exact=True)).to_be_visible()


@pytest.mark.release
async def test_choice_works_without_a_script(visit, site):
    page = (await visit(site.cast.alice, java_script_enabled=False)).page
    await choose_german(page)
    await expect(page.locator("html")).to_have_attribute("lang", "de")


@pytest.mark.release
async def test_menu_changes_the_language_of_the_page_it_is_on(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/runs/?state=failed")
    await page.locator("#account-menu summary").click()
    await page.get_by_role("button", name="Deutsch").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Läufe")
    assert page.url.endswith("/runs/?state=failed")
    await page.locator("#account-menu summary").click()
    await page.get_by_role("button", name="English").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Runs")


@pytest.mark.release
async def test_scripts_speak_german_with_the_right_forms(visit, site):
    page = (await visit(site.cast.alice, locale="de-DE")).page
    await page.goto("/home/")
    theme = page.locator("#theme-switch")
    await expect(theme).to_have_attribute("aria-label", "Darstellung: automatisch")
    await theme.click()
    await expect(theme).to_have_attribute("title", "Darstellung: hell")
    await page.keyboard.press("Control+k")
    state = page.locator(".palette__state")
    await expect(state).to_have_text(re.compile("Ergebnisse"))
    await page.get_by_role("combobox").fill("aufbewahrung")
    await expect(state).to_have_text("1 Ergebnis")
    await page.get_by_role("combobox").fill("xyzzy")
    await expect(state).to_contain_text("Nichts gefunden.")


async def test_navigation_fits_a_phone_in_german(visit, site):
    page = (await visit(site.cast.alice, locale="de-DE")).page
    await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for address in ("/home/", "/runs/", "/account/", "/"):
        await page.goto(address)
        await fits(page)
        assert await page.evaluate(CUT_OFF) == []


MARCH = """async () => {
  const place = document.createElement("p");
  place.innerHTML = '<time datetime="2026-03-05T12:00:00Z">?</time>';
  const loaded = performance.getEntriesByType("resource").map((each) => each.name);
  const times = await import(loaded.find((name) => name.endsWith("/times.js")));
  times.localiseTimes(place);
  return place.textContent;
}"""


@pytest.mark.release
async def test_month_of_a_local_time_is_german(visit, site):
    page = (await visit(site.cast.alice, locale="de-DE")).page
    await page.goto("/account/")
    assert (await page.evaluate(MARCH)).startswith("5 Mär 2026, ")
