"""The code a person copies from the page works as it stands, with a key of the team."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest
from playwright.async_api import Page, expect

from tests.browser import runs

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
AWKWARD = """What is 12 * 12? It's "urgent": $HOME `id` \\n \u2028 é"""
"""Quotes, a dollar, a backslash: what breaks shells and string literals."""


async def _sample(page: Page, language: str) -> str:
    await page.get_by_role("textbox", name="Prompt").fill(AWKWARD)
    await page.get_by_role("button", name="View code").click()
    await page.get_by_role("tab", name=language).click()
    text = page.get_by_role("tabpanel").locator("pre")
    await expect(text).not_to_be_empty()
    return await text.text_content() or ""


async def _output(site, *command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, "CONDUCTOR_API_KEY": site.key},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    return out.decode()


async def test_curl_sample_works(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    answer = json.loads(await _output(site, "sh", "-c", await _sample(page, "curl")))
    assert "144" in answer["choices"][0]["message"]["content"]


async def test_python_sample_works(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    code = await _sample(page, "Python")
    assert "144" in await _output(site, sys.executable, "-c", code)


async def test_sample_sends_exactly_the_prompt_and_the_chosen_model(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await page.get_by_role("radio", name="Mini").check()
    text = await _sample(page, "curl")
    body = text.split("-d '", 1)[1].removesuffix("'").replace("'\\''", "'")
    asked = {"role": "user", "content": AWKWARD}
    assert json.loads(body) == {"model": "conductor-mini", "messages": [asked]}


async def test_copy_button_of_the_drawer_copies_what_was_sent(visit, site):
    seen = await visit(site.cast.alice, permissions=["clipboard-read"])
    await runs.ask_worker(seen.page, "sim-delta", AWKWARD)
    await runs.ends(seen.page)
    await seen.page.get_by_role("link", name="View request").click()
    await seen.page.get_by_role("button", name="Copy as JSON").click()
    await expect(seen.page.get_by_role("button", name="Copied")).to_be_visible()
    copied = json.loads(await seen.page.evaluate("navigator.clipboard.readText()"))
    assert copied == [{"role": "user", "content": AWKWARD}]


async def test_copy_button_copies_the_sample(visit, site):
    seen = await visit(site.cast.alice, permissions=["clipboard-read"])
    await seen.page.goto("/")
    text = await _sample(seen.page, "curl")
    await seen.page.get_by_role("dialog").get_by_role("button", name="Copy").click()
    await expect(seen.page.get_by_role("button", name="Copied")).to_be_visible()
    assert await seen.page.evaluate("navigator.clipboard.readText()") == text
