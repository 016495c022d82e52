"""G19: hostile texts in every name and text of a team act on no page of the product."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.urls import reverse
from playwright.async_api import Page

from apps.accounts.models import Role
from tests.browser.hostile import LONG, MARKER, hostile_runs, hostile_world
from tests.security.routes import django_routes
from tests.security.world import World

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

INSPECT = """() => {
  const far = (url) => url && new URL(url, document.baseURI).origin !== location.origin
    && !/^(data|blob|about):/.test(url);
  const faults = [];
  if (window.acted) faults.push("a script ran");
  for (const each of document.querySelectorAll("*")) {
    for (const {name, value} of each.attributes) {
      if (/^on/i.test(name)) faults.push(`handler ${name}`);
      if (name === "srcdoc") faults.push("srcdoc");
      if (/^(src|data|action|formaction|poster)$/.test(name) && far(value))
        faults.push(`${each.tagName} ${name} ${value}`);
    }
    if (each.localName === "a" && /^(javascript|data|vbscript):/i.test(each.protocol))
      faults.push(`link ${each.getAttribute("href")}`);
    if (each.localName === "script" && !each.src && each.type !== "application/json")
      faults.push("inline script");
    if (["base", "embed", "object", "iframe"].includes(each.localName))
      faults.push(each.localName);
    if (each.localName === "meta" && each.httpEquiv.toLowerCase() === "refresh")
      faults.push("refresh");
  }
  if (getComputedStyle(document.body).display === "none") faults.push("style applied");
  const shown = document.documentElement.outerHTML.match(/MARKER-[\\w-]+/g) || [];
  return {faults, shown: [...new Set(shown)]};
}""".replace("MARKER", MARKER)
"""What a page must not hold, and which hostile texts it shows."""


@database_sync_to_async
def build() -> tuple[World, list[str]]:
    """Return the world, and the addresses that answer its owner with a page."""
    world = hostile_world()
    routes = [r for r in django_routes() if not r.is_personal and not r.is_api]
    addresses = {world.address(r) for r in routes}
    for run_id in hostile_runs(world.team):
        addresses.add(reverse("playground:run_detail", args=[run_id]))
        addresses.add(reverse("playground:run_approval", args=[run_id]))
    browser = world.browser(Role.OWNER)
    return world, sorted(a for a in addresses if is_page(browser, a))


def is_page(browser: Client, address: str) -> bool:
    response: Any = browser.get(address)
    kind = response.headers.get("Content-Type", "")
    return bool(response.status_code == 200 and kind.startswith("text/html"))


async def look(page: Page, address: str) -> set[str]:
    """Open a page, judge it and return the markers of the texts that it shows."""
    await page.goto(address, wait_until="load")
    found = await page.evaluate(INSPECT)
    assert found["faults"] == [], address
    return set(found["shown"])


async def test_g19_hostile_texts_act_nowhere(visit: Any, site: Any) -> None:
    world, addresses = await build()
    page = (await visit(world.people[Role.OWNER])).page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    shown: set[str] = set()
    for address in addresses:
        shown |= await look(page, address)
    assert dialogs == []
    assert len(addresses) > 40
    assert shown >= EXPECTED, EXPECTED - shown


async def test_g19_the_inspection_notices_what_acts(visit: Any, site: Any) -> None:
    visitor = await visit(site.cast.alice)
    visitor.guard.expect(".*")
    page = visitor.page
    await page.goto("/")
    added = "document.body.insertAdjacentHTML('beforeend', text)"
    judged = await page.evaluate(f"text => {{ {added}; return ({INSPECT})() }}", LONG)
    found = " ".join(judged["faults"])
    for what in (
        "handler onerror",
        "link javascript:",
        "FORM action",
        "srcdoc",
        "base",
    ):
        assert what in found


EXPECTED = {
    f"{MARKER}-{name}"
    for name in [
        "ApiKey-name",
        "Conductor-model",
        "Credential-name",
        "LegalHold-placed_by",
        "LegalHold-reason",
        "PolicyVersion-actor_name",
        "PoolVersion-actor_name",
        "ReviewComment-author_name",
        "Run-actor_name",
        "Run-model",
        "Run-title",
        "RunFeedback-actor_name",
        "Team-name",
        "User-name",
        "Worker-description",
        "Worker-model",
        "actor",
        "after",
        "before",
        "body-answer",
        "body-message",
        "body-messages",
        "body-output",
        "body-params",
        "body-prompt",
        "body-reason",
        "body-reasoning",
        "body-subtasks",
        "body-text",
        "body-tool_calls",
        "comment",
        "fact-fault",
        "fact-model",
        "fact-pool",
        "fact-reason",
        "fact-rules",
        "fact-worker",
        "fact-workers",
        "feedback",
        "ledger-actor",
        "plan",
        "rule",
        "word",
    ]
}
"""Texts that some page shows; one that none shows would be tried in vain."""
