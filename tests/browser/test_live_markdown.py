"""An answer is formatted while it is written, without a jump, and stays inert."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.browser.hostile import ACTS
from tests.browser.plans import say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PACE = "scripted-30"
SECTION = """
## Part {n}

Some **bold** words, `code`, and enough further words that this paragraph has to go on
for at least two lines of the page, whatever its width may be.

| item | amount |
|------|--------|
| one  | $5     |
| two  | $10    |

```python
def f(x):
    return x ** 2
```

1. First
2. Second with *stress*

$$
E = mc^2
$$
"""
ANSWER = "# Title\n" + "".join(SECTION.format(n=n) for n in range(1, 5)) + "\nThe end."
MOST_SHIFT = 0.02
WATCH_SHIFTS = """() => {
  window.shifts = [];
  const place = (node) => {
    const element = node?.nodeType === 1 ? node : node?.parentElement;
    return element ? `${element.tagName}#${element.id}.${element.className}` : "gone";
  };
  new PerformanceObserver((list) => {
    for (const { value, startTime, sources } of list.getEntries()) {
      const answer = document.querySelector("#run-answer");
      const inside = sources.some((source) => answer.contains(source.node));
      const state = document.querySelector("#run-body").dataset.state;
      const moved = sources.map((source) => place(source.node));
      window.shifts.push({ value, startTime, state, inside, moved });
    }
  }).observe({ type: "layout-shift" });
}"""
"""What is below an answer moves down while the answer grows; that is no jump."""


async def test_closed_blocks_are_formatted_and_never_drawn_again(visit, site, hire):
    await hire(PACE)
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, PACE, say(ANSWER))
    live = page.locator("#run-answer [data-mirror]")
    await expect(live.locator("h2", has_text="Part 2")).to_be_visible()
    first = live.locator("h2", has_text="Part 1")
    await first.evaluate("node => { window.firstPart = node; }")
    await expect(live.locator("h2", has_text="Part 3")).to_be_visible()
    assert await page.evaluate("window.firstPart.isConnected")
    for part in ("strong", "table td", "pre code", "ol li", "math"):
        await expect(live.locator(part).first).to_be_visible()
    assert "**bold**" not in await live.inner_text()
    assert await runs_on(page)


async def test_formatted_answer_does_not_move_when_it_ends(visit, site, hire):
    await hire(PACE)
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, PACE, say(ANSWER))
    await page.evaluate(WATCH_SHIFTS)
    await runs.ends(page)
    answer = page.locator("#run-answer .prose")
    await expect(answer).to_contain_text("The end.")
    shifts = await page.evaluate("window.shifts")
    jumps = [s for s in shifts if s["inside"] or s["state"] != "running"]
    assert sum(jump["value"] for jump in jumps) <= MOST_SHIFT, jumps


async def test_hostile_text_is_inert_while_it_is_written(visit, site, hire):
    await hire(PACE)
    page = (await visit(site.cast.alice)).page
    hostile = (
        f'# A\n\n<script>{ACTS}</script>\n\n<img src=x onerror="{ACTS}">\n\n'
        f"[link](javascript:{ACTS}) ![i](http://elsewhere.example/p.png)\n\n"
        f"$\\text{{<img src=x onerror={ACTS}>}}$\n\n" + "Some more words. " * 40
    )
    await runs.ask_worker(page, PACE, say(hostile))
    live = page.locator("#run-answer [data-mirror]")
    await expect(live).to_contain_text("Some more words.")
    await expect(live.locator("h1")).to_have_text("A")
    await expect(live.locator("script, img, a")).to_have_count(0)
    assert await page.evaluate("window.acted") is None


async def runs_on(page: Page) -> bool:
    """Say whether the run on the page has not ended."""
    return await page.locator(runs.RUN).get_attribute("data-state") == "running"
