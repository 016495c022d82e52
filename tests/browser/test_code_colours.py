"""Code of answers has colours, which come late and never hold the page up."""

from __future__ import annotations

import hashlib
import re

import pytest
from django.conf import settings
from playwright.async_api import expect

from tests.browser import runs
from tests.browser.plans import say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
CODE = "```python\ndef f(x):\n    return '<b>' + str(x)  # <script>\n```"
SLOW = f"```java\n{'a' * 19_000}\n```\n\n{CODE}"
"""The library takes many seconds for a long word in Java."""


async def test_code_has_colours_and_keeps_its_text(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(CODE))
    await runs.ends(page)
    code = page.locator("#run-answer .prose pre code")
    await expect(code.locator(".hljs-keyword").first).to_have_text("def")
    assert await code.text_content() == CODE.split("\n", 1)[1].removesuffix("```")
    assert await code.locator(":scope :not(span)").count() == 0


async def test_block_that_takes_long_is_given_up(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    await runs.ask_worker(page, "scripted", say(SLOW))
    await runs.ends(page)
    blocks = page.locator("#run-answer .prose pre code")
    await expect(blocks.last.locator(".hljs-keyword").first).to_have_text("def")
    await expect(blocks.first.locator("span")).to_have_count(0)


async def test_page_without_code_loads_no_library(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    await runs.ask_worker(page, "scripted", say("No code."))
    await runs.ends(page)
    assert not [url for url in loaded if "/vendor/" in url]


async def test_library_is_the_one_that_its_page_names():
    folder = settings.BASE_DIR / "static/vendor/highlight"
    digest = hashlib.sha256((folder / "highlight.min.js").read_bytes()).hexdigest()
    named = re.search(r"`([0-9a-f]{64})`", (folder / "README.md").read_text())
    assert named and named[1] == digest
