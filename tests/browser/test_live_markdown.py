"""An answer is formatted while it is written, without a jump, and stays inert."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.browser.hostile import ACTS
from tests.browser.plans import question_with, say

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
MAX_SHIFT = 0.005
WATCH_SHIFTS = """(() => {
  window.shifts = [];
  const place = (node) => {
    const element = node?.nodeType === 1 ? node : node?.parentElement;
    return element ? `${element.tagName}#${element.id}.${element.className}` : "gone";
  };
  new PerformanceObserver((list) => {
    for (const { value, startTime, sources } of list.getEntries()) {
      const state = document.querySelector("#run-body")?.dataset.state;
      const moved = sources.map(({ node, previousRect, currentRect }) =>
        `${place(node)} from ${previousRect.y} to ${currentRect.y}`);
      window.shifts.push({ value, startTime, state, moved });
    }
  }).observe({ type: "layout-shift", buffered: true });
})()"""
"""Each sudden move of what is on the screen, from the first paint of a page on."""


async def test_closed_blocks_are_formatted_and_never_drawn_again(
    visit, site, hire, models
):
    await hire(PACE)
    models.hold()
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
    await expect(live).not_to_contain_text("**bold**")
    assert await runs_on(page)


@pytest.mark.parametrize("width", [1280, 390])
async def test_nothing_moves_while_an_answer_is_planned_and_written(
    visit, site, hire, width: int
):
    await hire(PACE, "tokens-40-80")
    page = (await visit(site.cast.alice)).page
    await page.set_viewport_size({"width": width, "height": 900})
    await page.add_init_script(WATCH_SHIFTS)
    await page.goto("/")
    await runs.start(
        page, question_with((1, "Count.", []), (0, say(ANSWER), [0]), text="Go on.")
    )
    await runs.is_ready(page)
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text("The end.")
    shifts = await page.evaluate("window.shifts")
    worst = sorted(shifts, key=lambda shift: -shift["value"])[:3]
    assert sum(shift["value"] for shift in shifts) <= MAX_SHIFT, str(worst)


async def test_hostile_text_is_inert_while_it_is_written(visit, site, hire, models):
    await hire(PACE)
    models.hold()
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
    links = await live.locator("a").evaluate_all("found => found.map(a => a.href)")
    assert links == ["http://elsewhere.example/p.png"]
    assert await live.locator("script, img, [onerror]").count() == 0
    assert await runs_on(page)
    assert await page.evaluate("window.acted") is None


async def runs_on(page: Page) -> bool:
    """Say whether the run on the page has not ended."""
    return await page.locator(runs.RUN).get_attribute("data-state") == "running"
