"""The API's documentation in a real browser, under the site's strict policy."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_documentation_is_drawn_and_an_operation_can_be_tried(visit, site):
    visitor = await visit(site.cast.alice)
    page = visitor.page
    await page.goto("/api/v1/docs/")
    await expect(
        page.get_by_role("heading", name=re.compile("^Conductor API"))
    ).to_be_visible()
    await expect(page.get_by_role("navigation", name="Main")).to_contain_text("Runs")
    operation = page.locator("#operations-Team-team_get")
    await expect(operation).to_have_count(0)
    await page.locator("#operations-tag-Team").get_by_role("button").click()
    await operation.click()
    await page.get_by_role("button", name="Try it out").click()
    await page.get_by_role("button", name="Execute", exact=True).click()
    answer = page.locator(".live-responses-table")
    await expect(answer).to_contain_text("orchestra")


async def test_answers_under_v1_are_listed_with_their_documentation(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/api/v1/docs/")
    listed = page.get_by_role("region", name="Endpoints under /v1")
    await expect(listed).to_contain_text("POST /v1/chat/completions")
    await listed.get_by_role("link", name="Messages").click()
    await expect(page).to_have_url(f"{site.url}/docs/messages/")


async def test_request_under_v1_can_be_tried_and_is_answered_live(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/api/v1/docs/")
    form = page.locator("#try")
    await expect(form.get_by_label("Body")).to_have_value(re.compile("conductor-ultra"))
    await form.get_by_label("API key").fill(site.key)
    await form.get_by_role("button", name="Send").click()
    answer = page.get_by_label("Body of the answer")
    await expect(answer).to_contain_text("data: [DONE]")
    said = page.locator("#try-status")
    await expect(said).to_contain_text("200 OK")
    await said.get_by_role("link", name="Open run").click()
    await page.wait_for_url(f"{site.url}/runs/*/")


async def test_tried_request_says_what_is_wrong_with_it(visit, site):
    visitor = await visit(site.cast.alice)
    visitor.guard.expect("status of 401")
    page = visitor.page
    await page.goto("/api/v1/docs/")
    form = page.locator("#try")
    await form.get_by_label("Request").select_option("POST /v1/completions")
    await form.get_by_label("API key").fill("cdk_wrong")
    await form.get_by_label("Body").fill('{"model": ')
    await expect(form.get_by_role("alert")).to_contain_text("This is not JSON")
    await form.get_by_label("Body").fill('{"model": "conductor-mini", "prompt": "Hi"}')
    await expect(form.get_by_role("alert")).to_be_hidden()
    await form.get_by_role("button", name="Send").click()
    await expect(page.locator("#try-status")).to_contain_text("401")
    await expect(page.get_by_label("Body of the answer")).to_contain_text("API key")
    assert "cdk_wrong" not in await page.locator("#try-curl").text_content()
