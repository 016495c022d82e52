"""What tests do with runs: start one on the playground, wait, read its record."""

from __future__ import annotations

from typing import Any

from channels.db import database_sync_to_async
from playwright.async_api import Page, expect

from apps.accounts.models import Team
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.patience import eventually

RUN = "#run-body"


async def start(page: Page, prompt: str) -> None:
    """Write a prompt on the playground and press Run."""
    await page.get_by_role("textbox", name="Prompt").fill(prompt)
    await page.get_by_role("button", name="Run", exact=True).click()


async def ask_worker(page: Page, worker: str, prompt: str = "Hello") -> None:
    """Ask one worker directly, from a fresh playground."""
    await page.goto("/")
    await page.get_by_label("Route to").select_option(worker)
    await start(page, prompt)
    await is_ready(page)


async def is_ready(page: Page) -> None:
    """Wait until the page of a conversation does what it does by its script."""
    await page.wait_for_url("**/conversations/**", wait_until="commit")
    await expect(page.locator("#composer[data-ready]")).to_be_attached()


async def open_record(page: Page) -> None:
    """Go from a run on the playground to its own page, scripts running."""
    await page.get_by_role("link", name="Audit record").click()
    await page.wait_for_url("**/runs/*/")


async def ends(page: Page, state: str = "completed") -> None:
    """Wait until the run on the page is over, the page says so, and its scripts ran."""
    await expect(page.locator(RUN)).to_have_attribute("data-state", state)
    await page.wait_for_load_state("domcontentloaded")  # module scripts ran by then


def card(page: Page, index: int, state: str = "") -> Any:
    """Return the card of a step of the first round, in a state if one is given."""
    wanted = f'[data-state="{state}"]' if state else ""
    return page.locator(f"#step-0-{index}{wanted}")


@database_sync_to_async
def only_run(team: Team) -> Run:
    """Return the only run of a team."""
    return Run.objects.for_team(team.id).get()


@database_sync_to_async
def events_of(run: Run) -> list[Any]:
    """Return what the ledger says of a run."""
    return [recorded.event for recorded in run_events(run)]


@database_sync_to_async
def in_database(change: Any) -> Any:
    """Run `change` where the ORM may be used."""
    return change()


def wait_for_end(team: Team) -> None:
    """Return when the only run of a team is over, going by the database alone."""
    runs = Run.objects.for_team(team.id)
    assert eventually(lambda: runs.get().finished_at is not None)
