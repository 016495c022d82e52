"""One run under governance, in a browser: held, edited, approved, reviewed, proved."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from channels.db import database_sync_to_async
from playwright.async_api import Page, expect

from apps.audit.models import Entry
from apps.engine import events as ev
from tests.audit.bundles.alone import verify_alone
from tests.audit.bundles.forging import unzipped, zipped
from tests.browser import runs
from tests.browser.test_review import opens, press, queue_all
from tests.governance.test_policies import in_force, tag

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
IBAN = "DE89 3704 0044 0532 0130 00"
PROMPT = f"Compare the two offers for our customer with the account {IBAN}."
RULES = (
    {
        "name": "Customer data stays in the EU",
        "conditions": {"data_class": "confidential"},
        "effect": {"kind": "only_workers", "tags": ["eu"]},
    },
    {"name": "No account numbers", "effect": {"kind": "redact", "kinds": ["iban"]}},
    {
        "name": "Four eyes on customer data",
        "conditions": {"contains": ["iban"]},
        "effect": {"kind": "require_approval"},
    },
)


@database_sync_to_async
def govern(site) -> None:
    tag(site, "sim-delta", "eu")
    in_force(site, *RULES)


async def held(page: Page) -> str:
    """Return the address of the page on which the plan of this run is decided."""
    await expect(page.locator(runs.RUN)).to_have_attribute("data-state", "approval")
    link = page.get_by_role("link", name="See the plan")
    return str(await link.get_attribute("href"))


async def edit_and_approve(page: Page) -> None:
    """Give the first step another subtask, add one that reads it, and approve."""
    await page.get_by_role("button", name="Edit the plan").click()
    await page.get_by_role("textbox", name="Subtask of step 1").fill("List the prices.")
    await page.get_by_role("button", name="Add a step").click()
    steps = page.locator(".plan-editor__step")
    last = await steps.count()
    await expect(page.locator("#plan-drawing [data-fault]")).to_be_visible()
    await expect(page.get_by_role("button", name="Approve")).to_be_disabled()
    await page.get_by_role("textbox", name=f"Subtask of step {last}").fill(
        "Judge them."
    )
    await expect(page.locator("#plan-drawing .node")).to_have_count(last)
    await page.get_by_role("button", name="Approve the edited plan").click()
    await page.wait_for_url("**/runs/*/")


async def test_a_governed_run_from_prompt_to_proof(visit, site, tmp_path: Path) -> None:
    await govern(site)
    bob = (await visit(site.cast.bob)).page
    await bob.goto("/")
    await runs.start(bob, PROMPT)
    place = await held(bob)
    await expect(bob).to_have_title(re.compile("^… Waiting for approval · "))
    await bob.goto(place)
    await expect(
        bob.get_by_text("somebody else must decide about its plan")
    ).to_be_visible()

    alice = (await visit(site.cast.alice)).page
    await alice.goto("/")
    await alice.locator("#rail").get_by_text("Review").click()
    await alice.get_by_role("link", name="Approvals").click()
    await alice.get_by_role("link", name="Compare the two offers").click()
    await expect(alice.get_by_text("Four eyes on customer data")).to_be_visible()
    await edit_and_approve(alice)
    await expect(alice.get_by_text("The plan is approved")).to_be_visible()
    await runs.ends(alice)

    run = await runs.only_run(site.cast.team)
    events = await runs.events_of(run)
    (accepted,) = [e for e in events if isinstance(e, ev.PlanAccepted)]
    assert accepted.planner == "approver"
    assert accepted.subtasks[0] == "List the prices."
    started = [e for e in events if isinstance(e, ev.StepStarted)]
    assert {each.worker for each in started} == {"sim-delta"}
    assert not any(IBAN in each.messages for each in started)

    rita, _ = await queue_all(site.cast)
    reviewer = (await visit(rita)).page
    await judge(reviewer)
    await reviewer.goto(f"/runs/{run.id}/")
    await reviewer.locator("#export-menu summary").click()
    async with reviewer.expect_download() as download:
        await reviewer.get_by_role("button", name="Export with proof").click()
    content = read(await (await download.value).path())
    assert verify_alone(tmp_path, content)[0] == 0
    assert verify_alone(tmp_path, changed(content))[0] != 0
    actions = {row["action"] for row in entries_of(content)}
    assert {"policy.decided", "approval.granted", "review.judged"} <= actions
    assert await exported(site)


async def judge(page: Page) -> None:
    """Review the run with the keyboard alone."""
    await opens(page)
    await press(page, "ArrowDown", "Enter")
    await expect(page.locator("#reserve")).to_be_focused()
    await press(page, "Enter")
    await expect(page.locator("[data-question] input").first).to_be_focused()
    await press(page, "5", "1", "1", "Enter")
    await expect(page.get_by_text("Nothing else waits for you.")).to_be_visible()


def entries_of(content: bytes) -> list[dict[str, Any]]:
    """Return the entries of an export."""
    return [
        orjson.loads(each) for each in unzipped(content)["entries.jsonl"].splitlines()
    ]


def read(path: Path) -> bytes:
    return path.read_bytes()


def changed(content: bytes) -> bytes:
    """Return an export in whose entries another worker stands."""
    files = unzipped(content)
    forged = files["entries.jsonl"].replace(b"sim-delta", b"sim-birch", 1)
    return zipped({**files, "entries.jsonl": forged})


@database_sync_to_async
def exported(site) -> bool:
    rows = Entry.objects.for_team(site.cast.team.id)
    return rows.filter(action="run.exported").exists()


async def test_a_refusal_without_a_reason_keeps_the_draft_and_the_plan(
    visit, site
) -> None:
    """What was drafted stays a draft: approving takes what the page shows."""
    await govern(site)
    bob = (await visit(site.cast.bob)).page
    await bob.goto("/")
    await runs.start(bob, PROMPT)
    place = await held(bob)
    window = await visit(site.cast.alice)
    window.guard.expect("400")
    alice = window.page
    await alice.goto(place)
    await alice.get_by_role("button", name="Edit the plan").click()
    subtask = alice.get_by_role("textbox", name="Subtask of step 1")
    await subtask.fill("List the prices.")
    await alice.get_by_role("button", name="Refuse").click()
    await expect(alice.get_by_text("Reason: say why")).to_be_visible()
    await expect(subtask).to_have_value("List the prices.")
    await alice.get_by_role("button", name="Approve the edited plan").click()
    await alice.wait_for_url("**/runs/*/")
    await runs.ends(alice)
    events = await runs.events_of(await runs.only_run(site.cast.team))
    (accepted,) = [e for e in events if isinstance(e, ev.PlanAccepted)]
    assert accepted.subtasks[0] == "List the prices."


async def test_on_a_small_screen_the_approvals_fit(visit, site) -> None:
    await govern(site)
    bob = (await visit(site.cast.bob)).page
    await bob.goto("/")
    await runs.start(bob, PROMPT)
    place = await held(bob)
    alice = (await visit(site.cast.alice, size=(390, 844))).page
    for address in ("/approvals/", place):
        await alice.goto(address)
        await expect(alice.get_by_role("button", name="Menu")).to_be_visible()
        width = await alice.evaluate("document.documentElement.scrollWidth")
        assert width == 390, address
