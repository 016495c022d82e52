"""Numbers of a run that goes on: the time left, what its text costs, its end."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from apps.runs.selectors import usual_times
from tests.browser import runs
from tests.rest.things import make_run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SLOW = "tokens-60-40"
LEFT = "#run-pace [data-left]"


def past_runs(site, model: str, *latencies: int) -> None:
    for latency_ms in latencies:
        make_run(site.cast, model=model, latency_ms=latency_ms)


async def test_time_left_is_told_by_the_runs_of_the_team(visit, site, hire, models):
    await hire(SLOW)
    models.hold()
    model = f"worker/{SLOW}"
    await runs.in_database(lambda: past_runs(site, model, *[60_000] * 20))
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, SLOW)
    left = page.locator(LEFT)
    await expect(left).to_have_text(
        re.compile(r"^Usually about 1 min( 0 s)?; ≈ [1-5]?\d s left\.$")
    )
    models.release()
    await runs.ends(page)
    await expect(left).to_have_text("")


async def test_run_that_takes_longer_than_usual_says_so(visit, site, hire, models):
    await hire(SLOW)
    models.hold()
    model = f"worker/{SLOW}"
    await runs.in_database(lambda: past_runs(site, model, *[500] * 20))
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, SLOW)
    await expect(page.locator(LEFT)).to_contain_text("longer than usual")
    await page.get_by_role("button", name="Stop").click()
    await runs.ends(page, "cancelled")


async def test_cost_of_text_that_is_being_written_is_estimated(
    visit, site, hire, models
):
    await hire(SLOW)
    models.hold()
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, SLOW)
    more = page.locator("#run-summary [data-more-cost]")
    await expect(more).to_have_text(re.compile(r"≈ (<\$0\.0001|\$\d+\.\d{4})"))
    await expect(page.locator(LEFT)).to_be_empty()  # too few runs to go by
    models.release()
    await runs.ends(page)
    await expect(more).to_have_count(0)


async def test_end_is_notified_if_the_page_is_not_in_front(visit, site, hire, models):
    await hire(SLOW)
    models.hold()
    visitor = await visit(site.cast.alice)
    page = visitor.page
    await page.context.grant_permissions(["notifications"], origin=site.url)
    await page.add_init_script(
        """window.told = [];
        window.Notification = class {
          static permission = "granted";
          static async requestPermission() { return "granted"; }
          constructor(title) { window.told.push(title); }
        };
        Object.defineProperty(document, "hidden", { get: () => true });"""
    )
    await runs.ask_worker(page, SLOW)
    await page.get_by_role("button", name="Notify me").click()
    await expect(
        page.get_by_role("button", name="You will be notified")
    ).to_be_visible()
    models.release()
    await runs.ends(page)
    assert await page.evaluate("window.told") == ["Run completed"]


async def test_usual_times_need_enough_runs(site):
    model = "conductor-mini"

    def usual() -> tuple[int, int] | None:
        past_runs(site, model, 1000)
        return usual_times(site.cast.team.id, model)

    assert await runs.in_database(usual) is None
    await runs.in_database(lambda: past_runs(site, model, *range(1000, 20_000, 1000)))
    told = await runs.in_database(usual)
    assert told is not None
    assert 9_000 <= told[0] <= 10_500 and 17_000 <= told[1] <= 18_500
