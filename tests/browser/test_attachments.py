"""Files with a prompt: chosen, pasted and dropped; shown, refused, removed, sent."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.attachments.made_files import png
from tests.browser import runs
from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
FIGURES: Any = {
    "name": "figures.csv",
    "mimeType": "text/csv",
    "buffer": b"year,sum\n2024,17\n",
}
GIVEN = """([way, name, type, bytes]) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], name, { type }));
  const options = { bubbles: true, cancelable: true };
  const event = way === "paste"
    ? new ClipboardEvent("paste", { ...options, clipboardData: data })
    : new DragEvent("drop", { ...options, dataTransfer: data });
  document.querySelector("#prompt").dispatchEvent(event);
}"""


async def opened(page: Page) -> Page:
    await page.goto("/")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()
    return page


def chips(page: Page) -> Any:
    return page.locator("#attachments").get_by_role("listitem")


async def test_a_file_is_sent_with_its_prompt_and_shown_with_the_run(visit, site):
    page = await opened((await visit(site.cast.alice)).page)
    await page.locator("#attachment-files").set_input_files([FIGURES])
    await expect(chips(page)).to_contain_text(["figures.csv"])
    await expect(page.locator("#attachments [name=attachment]")).to_be_attached()
    await runs.start(page, "What is the sum of 2024?")
    await runs.ends(page)
    file = page.get_by_role("link", name="figures.csv")
    await expect(file).to_be_visible()
    run = await runs.only_run(site.cast.team)
    created = (await runs.events_of(run))[0]
    assert "year,sum" in str(created)
    async with page.expect_download() as downloads:
        await file.click()
    download = await downloads.value
    assert download.suggested_filename == "figures.csv"


@pytest.mark.parametrize("way", ["paste", "drop"])
async def test_an_image_is_pasted_or_dropped_and_can_be_removed(visit, site, way):
    page = await opened((await visit(site.cast.alice, size=PHONE)).page)
    await page.evaluate(GIVEN, [way, "chart.png", "image/png", list(png())])
    await expect(chips(page)).to_contain_text(["chart.png"])
    await expect(chips(page).locator("img")).to_be_visible()
    await fits(page)
    await page.get_by_role("button", name="Remove chart.png").click()
    await expect(chips(page)).to_have_count(0)


async def test_what_is_refused_says_why_and_leaves_the_prompt(visit, site):
    visitor = await visit(site.cast.alice)
    visitor.guard.expect("status of 400")
    page = await opened(visitor.page)
    await page.locator("#prompt").fill("What is on it?")
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"
    given = ["drop", "logo.svg", "image/svg+xml", list(drawing)]
    await page.evaluate(GIVEN, given)
    await expect(page.locator("#composer-error")).to_have_text(
        re.compile("logo.svg: SVG images are not accepted")
    )
    await expect(chips(page)).to_have_count(0)
    await expect(page.locator("#prompt")).to_have_value("What is on it?")
