"""Presets as a person uses them: picked, filled in, read, sent, linked from runs."""

from __future__ import annotations

import re

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import Page, expect

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.presets.models import Preset
from apps.presets.services import preset_create
from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
VALUES = {
    "description": "Says hello",
    "prompt": "Say hello to {{name}} in {{language|English}}.",
    "system": "Be brief.",
    "settings": {"model": "worker/echo", "temperature": 0.5},
}
HOSTILE = '<img src=x onerror="document.title=1">'


@pytest.fixture
def echo(site):
    site.add_worker("echo")


@database_sync_to_async
def make(site, name: str, **values) -> Preset:
    owner = member_principal(site.cast.alice, site.cast.team, Role.OWNER, {})
    return preset_create(principal=owner, values={"name": name, **VALUES, **values})


def prompt_of(page: Page):
    return page.get_by_role("textbox", name="Prompt", exact=True)


def picker(page: Page):
    return page.get_by_role("dialog", name="Choose a preset")


async def is_set_up(page: Page) -> None:
    await page.goto("/")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()


async def test_a_preset_is_picked_filled_in_sent_and_linked_from_its_run(
    visit, site, echo
):
    await make(site, "Greet")
    page = (await visit(site.cast.alice)).page
    await is_set_up(page)
    await page.get_by_role("button", name="Presets").click()
    await picker(page).get_by_role("option", name="Greet").click()
    await expect(page.get_by_label("name", exact=True)).to_be_focused()
    await expect(prompt_of(page)).to_have_value("Say hello to {{name}} in English.")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_label("name", exact=True)).to_be_focused()
    await page.get_by_label("name", exact=True).fill(HOSTILE)
    await page.get_by_label("language optional").fill("French")
    await expect(prompt_of(page)).to_have_value(f"Say hello to {HOSTILE} in French.")
    await expect(page.get_by_label("Route to")).to_have_value("worker/echo")
    await expect(page.locator("#settings-count")).to_have_text(" · 2 set")
    await page.get_by_role("button", name="Run", exact=True).click()
    await runs.is_ready(page)
    await runs.ends(page)
    await runs.open_record(page)
    link = page.get_by_role("main").get_by_role("link", name="Greet")
    await expect(link).to_be_visible()
    await expect(page.locator(".run-head")).not_to_contain_text("edited")
    await link.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "Version 1 of Greet"
    )


async def test_the_keyboard_alone_finds_fills_in_and_sends_a_preset(visit, site, echo):
    for name in ("Another", "Greet", "Zebra"):
        await make(site, name)
    page = (await visit(site.cast.alice)).page
    await is_set_up(page)
    await expect(prompt_of(page)).to_be_focused()
    await page.keyboard.press("/")
    search = page.get_by_role("combobox", name="Search presets")
    await expect(search).to_be_focused()
    await expect(picker(page).get_by_role("option", selected=True)).to_contain_text(
        "Another"
    )
    await page.keyboard.press("ArrowDown")
    await expect(picker(page).get_by_role("option", selected=True)).to_contain_text(
        "Greet"
    )
    await page.keyboard.type("zeb")
    await expect(picker(page).get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("name", exact=True)).to_be_focused()
    await page.keyboard.type("Bob")
    await page.keyboard.press("Control+Enter")
    await runs.is_ready(page)
    await expect(page.locator("#now")).to_contain_text("Say hello to Bob in English.")
    await page.goto("/")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    await page.keyboard.press("/")
    await expect(picker(page).get_by_role("option").first).to_contain_text("Zebra")
    await page.keyboard.press("Escape")
    await expect(search).to_be_hidden()
    await prompt_of(page).focus()
    await page.keyboard.press("/")
    await page.keyboard.press("/")
    await expect(prompt_of(page)).to_have_value("/")


async def test_a_text_is_edited_kept_and_the_preset_removed(visit, site, echo):
    await make(site, "Greet")
    page = (await visit(site.cast.alice)).page
    await is_set_up(page)
    await prompt_of(page).fill("What I wrote before")
    await page.get_by_role("button", name="Presets").click()
    await picker(page).get_by_role("option", name="Greet").click()
    await page.get_by_label("name", exact=True).fill("Bob")
    await page.reload()
    await expect(page.get_by_label("name", exact=True)).to_have_value("Bob")
    await page.get_by_role("button", name="Edit text").click()
    await prompt_of(page).fill("Say hello to Bob, please.")
    await page.reload()
    await expect(prompt_of(page)).to_have_value("Say hello to Bob, please.")
    await expect(page.get_by_label("name", exact=True)).to_be_hidden()
    await page.get_by_role("button", name="Use variables").click()
    await expect(prompt_of(page)).to_have_value("Say hello to Bob in English.")
    await page.get_by_role("link", name="Remove the preset").click()
    await expect(page.get_by_role("region", name="Preset Greet")).to_have_count(0)
    await expect(prompt_of(page)).to_be_editable()
    assert "preset" not in page.url


async def test_what_was_written_comes_back_when_a_preset_is_removed(visit, site, echo):
    await make(site, "Greet")
    page = (await visit(site.cast.alice)).page
    await is_set_up(page)
    await prompt_of(page).fill("What I wrote before")
    await page.get_by_role("button", name="Presets").click()
    await picker(page).get_by_role("option", name="Greet").click()
    await expect(page.get_by_label("Route to")).to_have_value("worker/echo")
    await page.get_by_role("link", name="Remove the preset").click()
    await expect(prompt_of(page)).to_have_value("What I wrote before")
    await expect(page.get_by_label("Route to")).to_have_value("")


async def test_settings_go_with_a_preset_that_the_page_came_with(visit, site, echo):
    preset = await make(site, "Greet")
    page = (await visit(site.cast.alice)).page
    await page.goto(f"/?preset={preset.id}")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    await expect(page.locator("#composer [name=temperature]")).to_have_value("0.5")
    await page.get_by_role("link", name="Remove the preset").click()
    for name in ("prompt", "system", "temperature"):
        await expect(page.locator(f"#composer [name={name}]")).to_have_value("")
    await expect(page.get_by_label("Route to")).to_have_value("")


async def test_the_composer_is_saved_as_a_preset_and_used(visit, site, echo):
    page = (await visit(site.cast.alice)).page
    await is_set_up(page)
    await prompt_of(page).fill("Translate: {{text}}")
    await page.get_by_label("Route to").select_option("worker/echo")
    await page.get_by_role("button", name="Presets").click()
    await expect(page.get_by_text("No presets yet.")).to_be_visible()
    await page.get_by_role("button", name="Save as preset").click()
    await page.get_by_role("textbox", name="Name").fill("Translate")
    await expect(page.get_by_label("Model", exact=True)).to_have_value("worker/echo")
    await page.get_by_role("button", name="Save preset").click()
    await page.get_by_role("link", name="Use", exact=True).click()
    await page.wait_for_url(re.compile(r"/\?preset="))
    await page.get_by_label("text", exact=True).fill("Guten Tag")
    await expect(prompt_of(page)).to_have_value("Translate: Guten Tag")
