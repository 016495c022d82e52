"""The operator's pages, in the frame of all pages: a person is added and found."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import expect

from tests.browser.screens import PHONE, fits
from tests.factories import UserFactory

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_operator_adds_a_person_on_a_phone(visit, site, scheme):
    operator = await database_sync_to_async(UserFactory.create)(
        name="Olga", is_staff=True, is_superuser=True
    )
    page = (await visit(operator, size=PHONE, color_scheme=scheme)).page
    await page.goto("/account/")
    await page.get_by_role("button", name="Menu").click()
    await page.get_by_role("link", name="Site", exact=True).click()
    await expect(page.get_by_role("heading", level=1, name="Site")).to_be_visible()
    await fits(page)
    await page.get_by_role("link", name="Users").click()
    await page.locator('a[href="/admin/accounts/user/add/"]').first.click()
    await page.get_by_label("Email").fill("new@example.org")
    await page.get_by_role("radio", name="Disabled").check()
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(
        page.get_by_role("heading", level=1, name="new@example.org")
    ).to_be_visible()
    await fits(page)


async def test_the_lists_follow_the_theme_switch(visit, site):
    operator = await database_sync_to_async(UserFactory.create)(
        is_staff=True, is_superuser=True
    )
    page = (await visit(operator, color_scheme="light")).page
    await page.goto("/admin/accounts/user/")
    root = page.locator("html")
    for expected in ("Theme: light", "Theme: dark"):
        await page.locator("#theme-switch").click()
        await expect(page.locator("#theme-switch")).to_have_accessible_name(expected)
    assert "dark" in (await root.get_attribute("class") or "")
    await page.locator("#theme-switch").click()
    assert "dark" not in (await root.get_attribute("class") or "")
