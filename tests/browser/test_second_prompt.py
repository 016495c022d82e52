"""A prompt that is sent during a run: it waits, stops the run, or goes elsewhere."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, Route, expect

from apps.runs.models import Run
from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SECOND = "A second prompt."


async def send_second(page: Page, way: str) -> None:
    await page.get_by_role("textbox", name="Prompt").fill(SECOND)
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_role("button", name=way).click()


async def states(site) -> list[str]:
    """Return the states of the team's runs, the oldest first."""

    def read() -> list[str]:
        rows = Run.objects.for_team(site.cast.team.id).order_by("id")
        return list(rows.values_list("state", flat=True))

    return list(await runs.in_database(read))


async def test_prompt_waits_until_the_run_ends(visit, site, hire, models):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await send_second(page, "When the run ends")
    await expect(page.locator("#queued")).to_be_visible()
    models.release()
    await expect(page.locator(".turn--now")).to_contain_text(SECOND)
    await runs.ends(page)
    assert await states(site) == ["completed", "completed"]


async def test_page_is_not_left_with_a_prompt_that_waits(visit, site, hire, models):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await send_second(page, "When the run ends")
    async with page.expect_event("dialog") as asked:
        await page.evaluate("setTimeout(() => location.reload())")
        question = await asked.value
        await question.dismiss()
    assert question.type == "beforeunload"
    models.release()
    await expect(page.locator(".turn--now")).to_contain_text(SECOND)
    await runs.ends(page)


async def test_prompt_that_waits_can_be_taken_back(visit, site, hire, models):
    await hire("instant")
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "instant")
    await send_second(page, "When the run ends")
    await page.get_by_role("button", name="Do not send").click()
    models.release()
    await runs.ends(page)
    await expect(page.get_by_role("textbox", name="Prompt")).to_have_value(SECOND)
    assert await states(site) == ["completed"]


async def test_run_is_stopped_and_the_prompt_sent(visit, site, hire):
    await hire("delay-60000")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "delay-60000")
    await expect(runs.card(page, 0, "running")).to_be_visible()
    await send_second(page, "Now: stop the run")
    await expect(page.locator(".turn--now")).to_contain_text(SECOND)
    assert (await states(site))[0] == "cancelled"
    await runs.is_ready(page)
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")


async def test_prompt_goes_to_a_new_conversation(visit, site, hire):
    await hire("delay-60000")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "delay-60000")
    await expect(runs.card(page, 0, "running")).to_be_visible()
    first = page.url
    await send_second(page, "Now: in a new conversation")
    await page.wait_for_url(lambda url: url.split("#")[0] != first.split("#")[0])
    await expect(page.locator(".turn--now")).to_contain_text(SECOND)
    await expect(page.locator(".turn")).to_have_count(1)
    assert await states(site) == ["running", "running"]
    for url in (page.url, first):
        await page.goto(url)
        await runs.is_ready(page)
        await page.keyboard.press("Escape")
        await runs.ends(page, "cancelled")


async def test_server_that_is_silent_is_named_within_two_seconds(visit, site, hire):
    await hire("delay-60000")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "delay-60000")
    await expect(runs.card(page, 0, "running")).to_be_visible()
    held: list[Route] = []
    is_silent = True

    async def hold(route: Route) -> None:
        if is_silent:
            held.append(route)
        else:
            await route.continue_()

    await page.route("**/body/*", hold)
    async with page.expect_request("**/body/*"):
        pass
    link = page.locator("#run-link")
    await expect(link).to_contain_text("has not answered", timeout=2_000)
    is_silent = False
    for route in held:
        await route.continue_()
    await expect(link).to_be_hidden()
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")
