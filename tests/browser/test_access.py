"""Who sees what: a viewer reads, a stranger finds nothing, nobody enters unasked."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ANSWERED = "simulated worker sim-delta"


@pytest.fixture
def run_url(site):
    """Return where a finished run of the team is."""

    async def make(visit) -> str:
        page = (await visit(site.cast.alice)).page
        await runs.ask_worker(page, "sim-delta", "What is the capital of Italy?")
        await runs.ends(page)
        link = page.get_by_role("link", name="Audit record")
        return str(await link.get_attribute("href"))

    return make


async def test_viewer_sees_runs_but_cannot_start_one(visit, site, run_url):
    url = await run_url(visit)
    page = (await visit(site.cast.vera)).page
    await page.goto(url)
    await expect(page.locator("#run-answer .prose")).to_contain_text(ANSWERED)
    await expect(page.get_by_role("link", name="Ask again")).to_have_count(0)
    await page.goto("/")
    button = page.get_by_role("button", name="Run", exact=True)
    await expect(button).to_be_disabled()
    await expect(button).to_have_accessible_description(
        "Your role may read runs, not start them. "
        "Ask an admin of Orchestra for the role “member”."
    )
    await page.get_by_role("textbox", name="Prompt").fill("Hello")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator(runs.RUN)).to_have_count(0)


async def test_stranger_gets_404_for_a_run(visit, site, run_url):
    url = await run_url(visit)
    seen = await visit(site.cast.mallory)
    seen.guard.expect("status of 404")
    response = await seen.page.goto(url)
    assert response is not None and response.status == 404
    await expect(seen.page.locator("main")).not_to_contain_text(ANSWERED)
    await seen.page.goto("/runs/")
    await expect(seen.page.locator("tr.row")).to_have_count(0)


async def test_stranger_cannot_follow_a_run_live(visit, site, run_url):
    url = await run_url(visit)
    page = (await visit(site.cast.mallory)).page
    await page.goto("/")
    code = await page.evaluate(
        """path => new Promise((resolve) => {
          const socket = new WebSocket(`ws://${location.host}/ws${path}?after=0`);
          socket.onmessage = () => resolve("a frame");
          socket.onclose = (event) => resolve(event.code);
        })""",
        url,
    )
    assert code == 4404


async def test_signing_in_leads_back_to_where_one_wanted_to_go(visit, site, run_url):
    url = await run_url(visit)
    page = (await visit(None)).page
    await page.goto(url)
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.get_by_label("Email").fill("vera@example.org")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("#run-answer .prose")).to_contain_text(ANSWERED)
    assert page.url == f"{site.url}{url}"


async def test_signing_out_ends_access(visit, site, run_url):
    url = await run_url(visit)
    page = (await visit(site.cast.bob)).page
    await page.goto(url)
    await page.get_by_label("Account and team").click()
    await page.get_by_role("button", name="Sign out").click()
    await page.goto(url)
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
