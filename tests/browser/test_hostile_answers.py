"""Model text is hostile: it may show itself, and never act."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.plans import say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ACTS = "window.acted = true"
HOSTILE = f"""# Answer

<script>{ACTS}</script>
<img src="http://elsewhere.example/p.png" onerror="{ACTS}">
<svg onload="{ACTS}"></svg>
<iframe srcdoc="<script>parent.acted = true</script>"></iframe>
<a href="javascript:{ACTS}">raw</a>
<form action="http://elsewhere.example/"><input autofocus onfocus="{ACTS}"></form>
<style>body {{ display: none }}</style>
<base href="http://elsewhere.example/"><meta http-equiv="refresh" content="0;url=/">

[link](javascript:{ACTS}) [data](data:text/html,<script>{ACTS}</script>)
![pixel](http://elsewhere.example/pixel.png) [good](https://example.org/page)

```html
<script>{ACTS}</script>
```

The last line.
"""
TABLE = "\n".join(
    ["|" + " cell |" * 60, "|" + "---|" * 60, *(["|" + " value |" * 60] * 60)]
)


async def test_hostile_answer_runs_nothing_and_requests_nothing(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(HOSTILE))
    await runs.ends(page)
    answer = page.locator("#run-answer .prose")
    await expect(answer).to_contain_text("The last line.")
    active = answer.locator("script, img, svg, iframe, form, input, style, base, meta")
    await expect(active).to_have_count(0)
    links = answer.locator("a")
    schemes = await links.evaluate_all("all => all.map(a => new URL(a.href).protocol)")
    assert set(schemes) == {"http:", "https:"}
    assert await page.evaluate("window.acted") is None


async def test_hostile_text_stays_text_wherever_it_is_shown(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(HOSTILE))
    await runs.ends(page)
    await runs.open_record(page)
    await page.get_by_role("link", name="View request").click()
    drawer = page.locator("dialog#drawer")
    await expect(drawer).to_contain_text("<script>")
    await page.goto("/runs/")
    await expect(page.locator("tr.row")).to_have_count(1)
    assert await page.evaluate("window.acted") is None


async def test_giant_table_does_not_widen_the_page(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(TABLE))
    await runs.ends(page)
    await expect(page.locator("#run-answer table")).to_be_visible()
    assert await page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
