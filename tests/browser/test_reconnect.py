"""A lost connection loses nothing: the page says so, catches up, doubles nothing."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import WebSocketRoute, expect

from tests.browser import runs
from tests.browser.plans import question_with

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TOKENS = 500
COUNTED = "".join(f"{n} " for n in range(TOKENS))
"""What a counting worker says."""
GOING_AWAY = 1001


class Line:
    """The websocket line between page and site; it can be cut, and held cut."""

    def __init__(self) -> None:
        self.calls = 0
        self._mended = asyncio.Event()
        self._mended.set()
        self._page_end: WebSocketRoute | None = None
        self._site_end: WebSocketRoute | None = None

    def connect(self, page_end: WebSocketRoute) -> None:
        """Join a page to the site, or leave it in the dark while the line is cut."""
        self.calls += 1
        self._page_end = page_end
        if self._mended.is_set():
            self._site_end = page_end.connect_to_server()

    async def cut(self) -> None:
        """Drop both ends, and every new call from now on."""
        self._mended.clear()
        assert self._page_end is not None and self._site_end is not None
        await self._site_end.close(code=GOING_AWAY)
        await self._page_end.close(code=GOING_AWAY)

    async def mend(self) -> None:
        """Let the next call through; a call in the dark is dropped."""
        self._mended.set()
        if self.calls > 1 and self._page_end is not None:
            await self._page_end.close(code=GOING_AWAY)


async def test_page_catches_up_after_a_lost_connection(visit, site, hire, models):
    await hire("instant", f"tokens-{TOKENS}-100")
    models.hold(after=30)
    page = (await visit(site.cast.alice)).page
    line = Line()
    await page.route_web_socket("**/ws/runs/**", line.connect)
    await page.goto("/")
    await runs.start(page, question_with((0, "Quick.", []), (1, "Slow.", [0])))
    live = runs.card(page, 1, "running").locator("[data-live]")
    await expect(live).to_contain_text("18 19 20")
    await line.cut()
    await expect(page.locator("#run-link")).to_contain_text("reconnecting")
    models.go_on()
    await line.mend()
    await expect(page.locator("#run-link")).to_be_hidden()
    await expect(live).to_contain_text("250 251")
    assert COUNTED.startswith(await live.text_content() or "no text")
    models.release()
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_have_text(COUNTED.strip())


async def test_run_that_ends_while_the_line_is_cut_is_shown_whole(
    visit, site, hire, models
):
    await hire("tokens-200-80")
    models.hold(after=20)
    page = (await visit(site.cast.alice)).page
    line = Line()
    await page.route_web_socket("**/ws/runs/**", line.connect)
    await page.goto("/")
    await runs.start(page, question_with((0, "Count.", [])))
    live = runs.card(page, 0, "running").locator("[data-live]")
    await expect(live).to_contain_text("0 1 2")
    await line.cut()
    await expect(page.locator("#run-link")).to_be_visible()
    models.release()
    await runs.in_database(lambda: runs.wait_for_end(site.cast.team))
    await line.mend()
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text("198 199")
    await expect(page.locator("#run-link")).to_be_hidden()


async def test_reload_in_mid_run_goes_on_from_there(visit, site, hire, models):
    await hire(f"tokens-{TOKENS}-100")
    models.hold(after=30)
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, question_with((0, "Count.", [])))
    live = runs.card(page, 0, "running").locator("[data-live]")
    await expect(live).to_contain_text("0 1 2")
    await page.reload()
    seen = len(await live.text_content() or "")
    models.go_on()
    await expect(live).to_contain_text(COUNTED[seen : seen + 100])
    assert COUNTED.startswith(await live.text_content() or "no text")
    await page.keyboard.press("Escape")
    await runs.ends(page, "cancelled")
