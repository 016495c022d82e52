"""Shadow tests, A/B tests and what is known of workers, on every kind of screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from channels.db import database_sync_to_async
from django.urls import reverse
from playwright.async_api import expect

from apps.accounts.models import User
from apps.evaluation.models import ABTest
from apps.evaluation.production.counting import outcomes_count
from apps.governance.services import feedback_give
from apps.playground.demo.preparation import EMAIL, DemoAccess, demo_prepare
from apps.runs.models import Run
from tests.browser.conftest import WORK_PATIENCE_MS
from tests.browser.screens import PHONE, fits
from tests.evaluation.samples import make_ab_test, make_shadow_test
from tests.factories import ACTOR

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SUM = "What is 17 * 23 + 4?"


@database_sync_to_async
def prepare(
    site: Any, settings: Any, folder: Path, *, is_trained: bool = True
) -> tuple[DemoAccess, User]:
    """Make the demo's team, as `make demo` does."""
    settings.VAR_DIR = folder
    access = demo_prepare(
        url=site.url, simulator_url=site.simulator_url, is_trained=is_trained
    )
    return access, User.objects.get(email=EMAIL)


async def ask(access: DemoAccess, model: str = "conductor-mini") -> None:
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(
            f"{access.url}/v1/chat/completions",
            json={"model": model, "messages": [{"role": "user", "content": SUM}]},
            headers={"Authorization": f"Bearer {access.api_key}"},
        )
    assert answer.status_code == 200, answer.text


async def test_a_shadow_test_of_the_demo_begins_and_shows_results(
    visit, site, settings, tmp_path
):
    access, user = await prepare(site, settings, tmp_path)
    await ask(access)
    page = (await visit(user, size=PHONE)).page
    await page.goto("/evaluations/")
    await page.get_by_role("link", name="New shadow test").click()
    await page.get_by_label("Name").fill("One worker for mini")
    await page.get_by_label("Runs of").select_option(label="demo/mini")
    await page.get_by_label("Which runs").select_option("1")
    await page.get_by_label("Maximum number of runs").fill("1")
    await page.get_by_label("Cost limit").fill("5")
    await page.get_by_text("Only some of the tier’s runs").click()
    await page.get_by_label("Words in the title").fill("17 * 23")
    await fits(page)
    await page.get_by_role("button", name="Start").click()
    state = page.locator(".evaluation__state .badge")
    await expect(state).to_have_text("Completed", timeout=WORK_PATIENCE_MS)
    await expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    await expect(page.get_by_role("link", name="Original")).to_be_visible()
    await fits(page)
    await page.get_by_role("link", name="Candidate", exact=True).click()
    await expect(page.get_by_text("via shadow")).to_be_visible()


async def test_an_ab_test_of_the_demo_answers_and_is_stopped(
    visit, site, settings, tmp_path
):
    access, user = await prepare(site, settings, tmp_path)
    page = (await visit(user, size=PHONE)).page
    await page.goto("/evaluations/")
    await page.get_by_role("link", name="New A/B test").click()
    await page.get_by_label("Name").fill("One worker for some")
    await page.get_by_label("A: the tier as it is").select_option(label="demo/mini")
    await fits(page)
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    await ask(access)
    run = page.get_by_role("link", name=SUM)
    await expect(run).to_be_visible()  # by itself
    await fits(page)
    await run.click()
    await page.get_by_role("link", name="A/B test").click()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".evaluation__state .badge")).to_have_text("Stopped")


@database_sync_to_async
def world(site: Any) -> list[str]:
    """Make one of everything; return the addresses of the pages."""
    team = site.cast.team
    run = Run.objects.for_team(team.id).latest("id")
    feedback_give(run=run, rating="up", actor=ACTOR)
    for _ in outcomes_count():
        pass
    Run.objects.for_team(team.id).filter(id=run.id).update(
        ab_test_id=make_ab_test(team).id, ab_arm="a"
    )
    test = ABTest.objects.for_team(team.id).get()
    pool = team.pools.get(is_default=True)
    return [
        reverse("console:shadow_new"),
        reverse("console:shadow_test", args=[make_shadow_test(team).id]),
        reverse("console:ab_new"),
        reverse("console:ab_test", args=[test.id]),
        reverse("console:worker", args=[team.workers.get(name="sim-birch").id]),
        reverse("console:pool", args=[pool.id]),
        reverse("playground:run_detail", args=[run.id]),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_fit_a_telephone_in_light_and_dark(visit, site, scheme):
    async with httpx.AsyncClient(timeout=60) as http:
        await http.post(
            f"{site.api_url}/chat/completions",
            json={
                "model": "worker/sim-birch",
                "messages": [{"role": "user", "content": SUM}],
            },
            headers={"Authorization": f"Bearer {site.key}"},
        )
    addresses = await world(site)
    visitor = await visit(site.cast.alice, size=PHONE, color_scheme=scheme)
    page = visitor.page
    grounds = set()
    for address in addresses:
        await page.goto(address)
        await expect(page.locator("h1")).to_be_visible()
        await fits(page)
        grounds.add(
            await page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        )
    (ground,) = grounds
    red = int(ground.removeprefix("rgb(").split(",")[0])
    assert (red > 128) == (scheme == "light")


async def test_the_page_of_a_worker_shows_production_apart(visit, site):
    async with httpx.AsyncClient(timeout=60) as http:
        await http.post(
            f"{site.api_url}/chat/completions",
            json={
                "model": "worker/sim-birch",
                "messages": [{"role": "user", "content": SUM}],
            },
            headers={"Authorization": f"Bearer {site.key}"},
        )
    address = (await world(site))[4]
    page = (await visit(site.cast.alice)).page
    await page.goto(address)
    production = page.get_by_role("region", name="From production")
    await expect(production.get_by_text("1 of 1")).to_be_visible()
    await expect(page.get_by_text("Not calibrated yet.")).to_be_visible()
