"""A light planner as a person makes it: trained, watched, compared, used, explained."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.browser.conftest import WORK_PATIENCE_MS
from tests.browser.screens import PHONE, fits
from tests.browser.test_candidate_tests import prepare

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SMALL = {
    "Runs of random plans": "60",
    "Second round (checks the first)": "12",
    "Tasks in the comparison": "10",
}
RIVALS = (
    "bench-generalist-strong",
    "self-reflection × 5",
    "mixture of agents",
    "best worker per family, as measured",
)
QUESTION = "Compute 12 plus 30."


async def started(page: Page) -> None:
    await page.goto("/learning/")
    await page.get_by_role("link", name="Train the light planner of demo").click()
    for label, value in SMALL.items():
        await page.get_by_label(label).fill(value)
    await page.get_by_text("Margin, cost and speed").click()
    await page.get_by_label("Runs at the same time").fill("8")  # slow enough to watch
    await fits(page)
    await page.get_by_role("button", name="Start").click()


async def watched(page: Page) -> None:
    """See each stage begin by itself, to the end."""
    for stage in ("Exploring", "Measuring"):
        progress = page.get_by_role("progressbar", name=stage, exact=True)
        await expect(progress).to_be_visible(timeout=WORK_PATIENCE_MS)
    training = page.locator("#training")
    await expect(training).to_have_attribute(
        "data-state", "idle", timeout=WORK_PATIENCE_MS
    )


async def compared(page: Page) -> None:
    """Read accuracy, cost and tokens of each system, and follow to the evaluation."""
    curve = page.get_by_role("region", name="Learning curve", exact=True)
    await expect(curve.get_by_role("img", name="Expected success")).to_be_visible()
    gate = page.get_by_role("region", name="On 10 held-out tasks", exact=True)
    for name in ("light planner (version 2)", *RIVALS):
        row = gate.get_by_role("row").filter(
            has=page.get_by_role("rowheader", name=name)
        )
        cells = await row.first.get_by_role("cell").all_inner_texts()
        success, _, cost, tokens = cells
        assert 0 <= float(success) <= 1
        assert cost.lstrip("<").startswith("$")
        assert int(tokens.replace(",", "")) > 0
    await gate.get_by_role("link", name="Open the evaluation").click()
    await expect(page.get_by_role("heading", name="Accuracy and cost")).to_be_visible()
    systems = page.get_by_role("rowheader", name="self-reflection × 5")
    await expect(systems.first).to_be_visible()
    await page.go_back()


async def used(page: Page) -> None:
    await page.get_by_role("link", name="Version 2").click()
    await fits(page)
    await page.get_by_label("ultra").check()
    await page.get_by_label("Reason").fill("To see how it plans.")
    await page.get_by_role("button", name="Use version 2").click()
    await expect(page.get_by_text("Version 2 plans now.")).to_be_visible()
    await expect(page.get_by_text("Version 2 plans ultra.")).to_be_visible()
    await fits(page)


async def test_a_person_trains_a_planner_and_reads_why_it_planned(
    visit, site, settings, tmp_path
):
    _, user = await prepare(site, settings, tmp_path, is_trained=False)
    page = (await visit(user, size=PHONE)).page
    await started(page)
    await watched(page)
    await compared(page)
    await used(page)
    await page.goto("/")
    await page.get_by_role("radio", name="Ultra").check()
    await runs.start(page, QUESTION)
    await runs.ends(page)
    await runs.open_record(page)
    why = page.locator("#plan-0-why")
    await expect(why).to_contain_text("The light planner (version 2)")
    await expect(why.get_by_role("row").filter(has_text="chosen")).to_be_visible()
    await expect(why.get_by_role("row").filter(has_text="alone").first).to_be_visible()
    await fits(page)
