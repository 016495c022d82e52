"""A link is made, copied and opened by a visitor without an account."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from channels.db import database_sync_to_async
from playwright.async_api import expect

from apps.sharing.services import sharing_set
from tests.browser.screens import PHONE
from tests.browser.test_axe import FAULTS
from tests.factories import ACTOR
from tests.playground import stories
from tests.sharing.conftest import record_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@database_sync_to_async
def _shares(site: Any) -> str:
    """Let the team share, and give it a run; return the path of the run."""
    sharing_set(team=site.cast.team, values={"is_on": True}, actor=ACTOR)
    return f"/runs/{record_run(site.cast)}/"


async def test_a_member_copies_a_link_and_a_visitor_reads_it(visit, site):
    path = await _shares(site)
    page = (await visit(site.cast.bob)).page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(path)
    await page.get_by_role("link", name="Share", exact=True).click()
    await page.get_by_label("Also the plan and the answers of its steps").check()
    await page.get_by_label("Note").fill("For Carol")
    await page.get_by_role("button", name="Create link").click()
    await page.get_by_role("button", name="Copy", exact=True).click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    address = await page.evaluate("navigator.clipboard.readText()")
    assert "/shared/" in address

    window = await visit(None)
    window.guard.expect("status of 404")
    visitor = window.page
    # The site's own address may be another one in tests.
    await visitor.goto("/shared/" + address.partition("/shared/")[2])
    answer = visitor.get_by_role("region", name="Answer")
    await expect(answer).to_contain_text("Use PostgreSQL")
    heading = visitor.get_by_role("heading", level=1)
    await expect(heading).to_contain_text(stories.PROMPT[:60])
    await visitor.get_by_text("Response of step 1").first.click()
    assert await visitor.context.cookies() == []
    await visitor.evaluate(AXE_SCRIPT)
    assert await visitor.evaluate(FAULTS, []) == []
    await visitor.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    await visitor.emulate_media(color_scheme="dark")
    assert await visitor.evaluate(FAULTS, []) == []
    width = await visitor.evaluate("document.documentElement.scrollWidth")
    assert width == PHONE[0]

    await page.get_by_role("link", name="I have copied it").click()
    await page.get_by_role("link", name="Revoke the link For Carol").click()
    await page.get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("The link is revoked.")).to_be_visible()
    await visitor.reload()
    await expect(heading).to_have_text("This link does not work any more")
