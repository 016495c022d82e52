"""What a browser that was never here loads for a page: requests, and bytes of them."""

from __future__ import annotations

import pytest

from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
LOADED = """async () => {
  await document.fonts.ready;
  const kinds = ["navigation", "resource"];
  const entries = kinds.flatMap((kind) => performance.getEntriesByType(kind));
  return entries.map((entry) => [new URL(entry.name).pathname, entry.transferSize]);
}"""
"""Sizes are those on the wire, heads of the answers included."""


async def loaded(visitor, path: str) -> dict[str, int]:
    """Return what is loaded for a page with an empty cache."""
    page = visitor.page
    session = await visitor.context.new_cdp_session(page)
    await session.send("Network.clearBrowserCache")
    await page.goto(path)
    return dict(await page.evaluate(LOADED))


def expect_at_most(files: dict[str, int], *, requests: int, kilobytes: int) -> None:
    assert all(files.values()), f"something came out of a cache: {files}"
    assert len(files) <= requests, files
    assert sum(files.values()) / 1000 <= kilobytes, files


@pytest.mark.parametrize(
    ("path", "requests", "kilobytes"),
    [
        ("/", 14, 190),
        ("/home/", 15, 145),
        ("/runs/", 12, 140),
        ("/pools/", 14, 145),
        ("/insights/", 14, 140),
        ("/ledger/", 15, 145),
        ("/docs/", 10, 140),
    ],
)
async def test_first_visit_to_a_page_is_light(visit, site, path, requests, kilobytes):
    files = await loaded(await visit(site.cast.alice), path)
    expect_at_most(files, requests=requests, kilobytes=kilobytes)


async def test_second_page_loads_no_file_again(visit, site):
    visitor = await visit(site.cast.alice)
    first = await loaded(visitor, "/")
    await visitor.page.goto("/runs/")
    second = dict(await visitor.page.evaluate(LOADED))
    shared = {path for path in set(first) & set(second) if path.startswith("/static/")}
    assert len(shared) > 3
    assert {path: second[path] for path in shared} == dict.fromkeys(shared, 0)


async def test_first_visit_to_a_conversation_is_light(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, "What is 17 * 23 + 4?")
    await runs.ends(page)
    files = await loaded(await visit(site.cast.alice), page.url)
    expect_at_most(files, requests=15, kilobytes=210)
