"""How a page fits its screen."""

from __future__ import annotations

from playwright.async_api import Page

PHONE = (390, 844)
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth > width
    ? [...document.querySelectorAll("main *")]
        .filter((e) => e.getBoundingClientRect().right > width)
        .map((e) => e.id || e.className || e.tagName)
    : [];
}"""


async def fits(page: Page) -> None:
    """Expect that the page does not scroll sideways, once its style sheets apply."""
    await page.wait_for_load_state()
    assert (page.url, await page.evaluate(TOO_WIDE)) == (page.url, [])
