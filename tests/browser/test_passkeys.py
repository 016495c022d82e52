"""Passkeys in a real browser, and the admin's pages under their own policy.

Both run scripts that are not ours: the guard sees whatever a policy refuses them.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from channels.db import database_sync_to_async
from playwright.async_api import Page, expect

from apps.accounts.models import User
from tests.browser.guard import Guard
from tests.factories import PASSWORD, UserFactory

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
ADMIN_PAGES = ["", "accounts/user/", "accounts/user/add/", "ledger/", "settings/"]


@pytest_asyncio.fixture(loop_scope="session")
async def page(site, browser):
    """A window with a device that holds passkeys. They need a name: `localhost`."""
    url = site.url.replace("127.0.0.1", "localhost")
    context = await browser.new_context(
        base_url=url, viewport={"width": 380, "height": 760}
    )
    guard = Guard(url)
    guard.watch(context)
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    yield page
    await context.close()
    assert guard.faults == []


def is_home(url: str) -> bool:
    return urlsplit(url).path == "/home/"


async def sign_in(page: Page, email: str) -> None:
    await page.goto("/accounts/login/")
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(lambda url: "/login/" not in url)


async def add_passkey(page: Page) -> None:
    await page.goto("/accounts/2fa/webauthn/add/")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Add passkey").click()
    await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()


async def sign_out(page: Page) -> None:
    await page.goto("/accounts/logout/")
    await page.get_by_role("main").get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_passkey_signs_in_alone_and_as_second_factor(page):
    await sign_in(page, "alice@example.org")
    await add_passkey(page)
    await sign_out(page)
    await page.get_by_role("button", name="Use a passkey").click()
    await page.wait_for_url(is_home)
    await sign_out(page)
    await sign_in(page, "alice@example.org")
    await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    await page.get_by_role("button", name="Use a passkey").click()
    await page.wait_for_url(is_home)


async def test_passkey_nobody_knows_is_refused_in_words(page):
    await page.goto("/accounts/login/")
    await page.evaluate(
        """() => { navigator.credentials.get = () =>
          Promise.reject(new DOMException("no", "NotAllowedError")); }"""
    )
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("cancelled")


@database_sync_to_async
def operator() -> User:
    return UserFactory.create(
        email="boss@example.org", is_staff=True, is_superuser=True
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_admin_works_under_its_policy(page, scheme):
    await operator()
    await page.emulate_media(color_scheme=scheme)
    await sign_in(page, "boss@example.org")
    for path in ADMIN_PAGES:
        await page.goto(f"/admin/{path}")
        await expect(page.get_by_role("main")).to_be_visible()
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not await page.evaluate(wide), path
