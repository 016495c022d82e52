"""An evaluation as a person makes it: tasks in, started, watched, read, followed."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.conftest import WORK_PATIENCE_MS
from tests.browser.screens import PHONE, fits
from tests.evaluation.samples import documents, lines

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_from_a_file_of_tasks_to_a_run_behind_a_figure(visit, site, tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text(lines(documents()))
    page = (await visit(site.cast.alice, size=PHONE)).page
    await page.goto("/evaluations/")
    await page.get_by_role("link", name="Import tasks").click()
    await page.get_by_label("Name").fill("basics")
    await page.get_by_label("File").set_input_files(file)
    await page.get_by_role("button", name="Import").click()
    await expect(page.get_by_text("basics, version 1: 10 tasks.")).to_be_visible()
    await page.get_by_role("link", name="New evaluation").click()
    await page.get_by_text("Baselines for research").click()
    await page.get_by_label("Mixture of agents").uncheck()
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_text("Nothing has begun yet.")).to_be_visible()
    await page.get_by_role("button", name="Start").click()
    ended = page.locator(".evaluation__state .badge")
    await expect(ended).to_have_text("Completed", timeout=WORK_PATIENCE_MS)
    await expect(page.locator(".plot__point")).to_have_count(5)
    await fits(page)
    await page.locator(".heat td a").first.click()
    await page.locator("tbody a").first.click()
    await expect(page.get_by_text("via evaluation")).to_be_visible()
