"""A newcomer's first hour in a browser, told by nobody: from signing up to a second
member, a second provider and a capped API key that curl uses as the page shows it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
from django.core import mail
from playwright.async_api import Page, expect

from tests.browser import runs
from tests.conftest import PROVIDER_KEY

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
PASSWORD = "a long walk in the rain"
QUESTION = "What is 17 * 23 + 4?"
ANSWER = "simulated worker sim-delta"
INPUT_USD, OUTPUT_USD = "40", "80"
"""Per million tokens: the sample question costs a third of a cent."""
CAP_USD = "0.05"
MOST_CALLS = 20
"""More than fit into the cap."""


@pytest.fixture
def open_site(site: Any, settings: Any) -> Any:
    """A site where anybody may sign up, and which knows its own address."""
    settings.SIGN_UP = "open"
    settings.CONDUCTOR_URL = site.url
    return site


@dataclass
class Answer:
    """What curl printed."""

    body: dict[str, Any]
    headers: str
    """If it was told to print them to its standard error."""

    @property
    def text(self) -> str:
        return str(self.body["choices"][0]["message"]["content"])

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.body["error"])


async def sign_up(page: Page, name: str, email: str = "") -> None:
    """Fill in the form; the address of somebody invited is there already."""
    await page.get_by_label("Name").fill(name)
    if email:
        await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Create account").click()


async def begin(visit: Any) -> Page:
    """Sign up from the first page on, and create a team."""
    page: Page = (await visit(None)).page
    await page.goto("/")
    await page.get_by_role("link", name="Sign up").click()
    await sign_up(page, "Nina New", "nina@example.org")
    await page.get_by_label("Name of the team").fill("Night Shift")
    await page.get_by_role("button", name="Create team").click()
    return page


async def describe_worker(page: Page, url: str, model: str, name: str) -> None:
    """Fill in the form of a worker that is served by no well-known provider."""
    await page.get_by_role("link", name="Another one").click()
    await page.get_by_label("Address").fill(url)
    await page.get_by_label("Model", exact=True).fill(model)
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label(re.compile("^Input")).fill(INPUT_USD)
    await page.get_by_label(re.compile("^Output")).fill(OUTPUT_USD)


async def first_provider(page: Page, url: str) -> None:
    """Follow the page that a team without a pool sees."""
    await page.get_by_role("link", name="Add your first worker").click()
    await describe_worker(page, url, "sim-delta", "first")
    await page.get_by_label("Make a pool from it").uncheck()
    await page.get_by_role("button", name="Save and test").last.click()
    await expect(page.locator(".test")).to_contain_text("Test passed.")
    await page.get_by_role("link", name="Pools", exact=True).click()
    await page.get_by_role("button", name="Make the pool").click()
    await expect(page.get_by_role("main")).to_contain_text("conductor-mini")


async def begin_with_a_pool(visit: Any, url: str) -> Page:
    """Sign up, create a team, and give it a worker in a pool."""
    page = await begin(visit)
    await first_provider(page, url)
    return page


async def test_newcomer_comes_from_nothing_to_an_answer(visit, open_site):
    page = await begin(visit)
    await expect(page.get_by_role("main")).to_contain_text("No pool yet")
    await first_provider(page, open_site.simulator_url)
    await page.get_by_role("link", name="Try it").click()
    await runs.start(page, QUESTION)
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text(ANSWER)


async def test_second_provider_is_asked_with_its_key(visit, open_site, locked_url):
    page = await begin_with_a_pool(visit, open_site.simulator_url)
    await page.get_by_role("link", name="Models", exact=True).click()
    await page.get_by_role("link", name="Add a worker").click()
    await describe_worker(page, locked_url, "sim-birch", "second")
    await page.get_by_role("button", name="Save and test").last.click()
    await expect(page.locator(".test")).to_contain_text("key")
    await page.get_by_label("Key", exact=True).select_option(label="A new key…")
    await page.get_by_label("New key").fill(PROVIDER_KEY)
    await page.get_by_role("button", name="Save and test").last.click()
    await expect(page.locator(".test")).to_contain_text("Test passed.")
    assert PROVIDER_KEY not in await page.content()
    await runs.ask_worker(page, "second", QUESTION)
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text("sim-birch")


async def test_second_person_comes_by_the_link_in_the_mail(visit, open_site):
    page = await begin(visit)
    await page.get_by_role("link", name="Invite a second person").click()
    await page.get_by_label("Email address").fill("omar@example.org")
    await page.get_by_role("button", name="Send invitation").click()
    shown = await page.get_by_label("The same link").input_value()
    letter = next(sent for sent in mail.outbox if sent.to == ["omar@example.org"])
    link = re.search(r"http\S+/invitations/\S+", str(letter.body))
    assert link is not None
    assert link[0].startswith(shown)
    theirs: Page = (await visit(None)).page
    await theirs.goto(link[0])
    await expect(theirs.get_by_role("heading")).to_have_text("Join Night Shift")
    await theirs.get_by_role("link", name="Create account").click()
    await expect(theirs.get_by_label("Email")).to_have_value("omar@example.org")
    await sign_up(theirs, "Omar Other")
    await theirs.get_by_role("button", name="Accept and join").click()
    await expect(theirs.locator(".notice")).to_contain_text("Welcome to Night Shift")
    await theirs.get_by_role("link", name="Team", exact=True).first.click()
    await theirs.get_by_role("link", name="Members", exact=True).click()
    members = theirs.get_by_role("region", name="Members")
    await expect(members).to_contain_text("Nina New")
    await expect(members).to_contain_text("Omar Other")
    await page.get_by_role("link", name="Done").click()
    await expect(page.get_by_role("main")).to_contain_text("no open invitations")


async def make_capped_key(page: Page, cap_usd: str = CAP_USD) -> str:
    """Make a key that may only start runs, for cents a day; return its curl."""
    await page.get_by_role("link", name="Settings", exact=True).click()
    await page.get_by_role("link", name="API keys", exact=True).click()
    await page.get_by_role("link", name="Create a key").click()
    await page.get_by_label("Name", exact=True).fill("Cron job")
    await page.get_by_text("Permissions and limits").click()
    for scope in ("Read runs", "Call single workers"):
        await page.get_by_label(scope).uncheck()
    await page.get_by_label("Cost limit").fill(cap_usd)
    await page.get_by_role("button", name="Create key").click()
    secret = await page.get_by_label("API key").input_value()
    command = await page.locator("#code-text-curl").inner_text()
    assert secret in command
    return command


async def type_into_shell(command: str) -> Answer:
    """Run a command in a shell that knows nothing else."""
    done = await asyncio.to_thread(
        subprocess.run,
        ["/bin/sh", "-c", command],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=30,
        check=True,
    )
    return Answer(json.loads(done.stdout), done.stderr.decode())


async def type_until_refused(command: str) -> dict[str, Any]:
    """Repeat a command that worked until it does not; return the error."""
    for _ in range(MOST_CALLS):
        answer = await type_into_shell(command)
        if "error" in answer.body:
            return answer.error
    raise AssertionError("nothing stopped it")


async def test_copied_curl_works_until_the_budget_is_used_up(visit, open_site):
    page = await begin_with_a_pool(visit, open_site.simulator_url)
    command = await make_capped_key(page)
    assert ANSWER in (await type_into_shell(command)).text
    refused = await type_until_refused(command)
    assert refused["code"] == "insufficient_quota"
    assert "budget of API key 'Cron job'" in refused["message"]
    assert re.search(r"of \$0\.05 left;.* resets at \d{4}-", refused["message"])
    assert "this run likely costs" in refused["message"]
    await page.locator("#rail").get_by_role("link", name="Usage").click()
    await page.get_by_role("link", name="Budgets", exact=True).click()
    row = page.locator(".budget-row", has_text="Cron job")
    await expect(row).to_contain_text("of $0.05 per day")
    await expect(row).to_contain_text("left")
    await expect(row).to_contain_text("Resets")
    await page.locator("#place-tabs").get_by_role("link", name="Usage").click()
    used = page.get_by_role("region", name="API key").get_by_role("row")
    await expect(used.filter(has_text="Cron job")).to_contain_text("$0.02")


async def test_refusal_is_a_429_with_the_time_to_wait(visit, open_site):
    page = await begin_with_a_pool(visit, open_site.simulator_url)
    command = (await make_capped_key(page, cap_usd="0.0001")).replace(
        "curl ", "curl -sD /dev/stderr ", 1
    )
    refused = await type_into_shell(command)
    assert refused.headers.startswith("HTTP/1.1 429")
    assert re.search(r"^retry-after: \d+", refused.headers, re.IGNORECASE | re.M)
