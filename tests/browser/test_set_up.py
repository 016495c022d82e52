"""A fresh team comes to its first planned answer with a server of its own."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from apps.accounts.models import Team
from apps.runs.models import Run
from tests.browser import runs
from tests.browser.hands import Hands
from tests.browser.screens import PHONE, fits
from tests.factories import UserFactory

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MARKED = ("sim-conductor", "sim-atlas", "sim-delta")
SCHEMES = ("light", "dark")


@pytest.fixture
def fresh_site(site: Any, settings: Any) -> Any:
    """A site where anybody may make a team."""
    settings.SIGN_UP = "open"
    return site


async def newcomer(visit: Any, **options: Any) -> Page:
    """Return the first page of a person with an account and without a team."""
    user = await runs.in_database(
        lambda: UserFactory.create(email="nina@example.org", name="Nina")
    )
    page: Page = (await visit(user, **options)).page
    await page.goto("/")
    return page


async def save_models(hands: Hands, url: str, models: tuple[str, ...]) -> None:
    """Make a team, and save these models of the simulator."""
    page = hands.page
    await hands.write("Name of the team", "Night Shift")
    await hands.press("Create team")
    await hands.press("Set up models")
    await hands.click(page.get_by_role("link", name="vLLM (local)"))
    await hands.write("Address", url)
    await hands.press("List models")
    await hands.mark(*models)
    await hands.press("Save and test")
    await expect(page.locator("[data-setup]:not([data-run])")).to_be_attached()


async def all_pass(page: Page) -> None:
    """Wait until every test has passed."""
    progress = page.locator("[data-progress]")
    await expect(progress).to_have_text("All tests passed.")


async def test_fresh_team_comes_to_a_planned_answer(visit, fresh_site):
    page = await newcomer(visit)
    hands = Hands(page)
    await save_models(hands, fresh_site.simulator_url, MARKED)
    await all_pass(page)
    plan = page.get_by_role("list", name="The plan that was read")
    await expect(plan.locator("li").first).to_contain_text("sim-")
    await hands.press("Use them and ask something")
    await expect(page.get_by_role("textbox", name="Prompt")).not_to_have_value("")
    await hands.press("Run")
    await runs.ends(page)
    team = await runs.in_database(lambda: Team.objects.get(name="Night Shift"))
    run: Run = await runs.only_run(team)
    assert (run.tier, run.planner) == ("ultra", "language_model")
    assert run.steps_done > 1


async def test_checklist_goes_with_the_first_planned_answer(visit, fresh_site):
    page = await newcomer(visit)
    hands = Hands(page)
    await hands.write("Name of the team", "Night Shift")
    await hands.press("Create team")
    await page.goto("/")
    todo = page.get_by_role("region", name="Steps to your first planned answer")
    await expect(todo.locator('[data-done="true"]')).to_have_count(0)
    await page.goto("/teams/new/")
    await save_models(hands, fresh_site.simulator_url, MARKED)
    await all_pass(page)
    await expect(todo.locator('[data-done="true"]')).to_have_count(3)
    await hands.press("Use them and ask something")
    await expect(todo.locator('[data-done="true"]')).to_have_count(4)
    await hands.press("Run")
    await runs.ends(page)
    await expect(todo).to_be_hidden()
    await page.goto("/")
    await expect(page.get_by_role("textbox", name="Prompt")).to_be_visible()
    await expect(todo).to_have_count(0)


async def test_model_that_cannot_plan_is_replaced_by_one_that_can(visit, fresh_site):
    page = await newcomer(visit)
    hands = Hands(page)
    models = ("sim-conductor-prose", "sim-delta")
    await save_models(hands, fresh_site.simulator_url, models)
    plans = page.get_by_role("region", name="The model that plans")
    await expect(plans).to_contain_text("Its answer is not a plan")
    await expect(page.get_by_role("button", name="Go on without plans")).to_be_visible()
    await page.get_by_role("link", name="Add models").click()
    await page.get_by_role("link", name="vLLM (local)").click()
    await page.get_by_label("Address", exact=True).fill(fresh_site.simulator_url)
    await (
        page.get_by_role("button", name="List models", exact=True)
        .locator("visible=true")
        .click()
    )
    await Hands(page).mark("sim-delta")
    await page.get_by_label("The model that plans").select_option("sim-conductor")
    await page.get_by_role("button", name="Save and test").click()
    await all_pass(page)
    team = await runs.in_database(lambda: Team.objects.get(name="Night Shift"))
    workers = await runs.in_database(
        lambda: list(team.workers.values_list("name", flat=True))
    )
    assert workers == ["sim-delta"]


async def test_all_models_of_a_team_are_tested_with_one_click(visit, site):
    page = (await visit(site.cast.alice)).page
    await page.goto("/setup/models/")
    await page.get_by_role("button", name="Test all").click()
    await all_pass(page)
    await expect(page.get_by_role("button", name="Test all")).to_have_count(0)
    worked = page.locator("[data-health]", has_text="Healthy")
    await expect(worked).to_have_count(2)


async def test_run_of_a_tier_that_does_not_plan_leads_to_the_repair(visit, site):
    def unset() -> None:
        pool = site.cast.team.pools.get()
        pool.conductor = None
        pool.save()
        pool.tiers.update(planner="single_worker")

    await runs.in_database(unset)
    page = (await visit(site.cast.alice)).page
    await page.goto("/")
    await runs.start(page, "What is the capital of Italy?")
    await runs.ends(page)
    badge = page.locator('#run-summary .badge[data-state="unplanned"]')
    await expect(badge).to_have_text("Answered without a plan")
    first = await page.locator(runs.RUN).get_attribute("data-run-id")
    await runs.start(page, "And of Spain?")
    await expect(page.locator(runs.RUN)).not_to_have_attribute("data-run-id", first)
    await runs.ends(page)
    earlier = page.locator(".turns > .turn .badge")
    await expect(earlier).to_have_text("Answered without a plan")
    await page.get_by_role("link", name="Let the tier plan").click()
    await page.get_by_role("link", name="Change it").click()
    await expect(page).to_have_url(
        f"{site.url}/pools/{await _pool_id(site)}/#id_conductor_id"
    )


async def _pool_id(site: Any) -> Any:
    return (await runs.in_database(lambda: site.cast.team.pools.get())).id


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_pages_of_the_set_up_fit_a_telephone(visit, fresh_site, scheme):
    page = await newcomer(visit, size=PHONE, color_scheme=scheme)
    hands = Hands(page)
    await save_models(hands, fresh_site.simulator_url, MARKED)
    await all_pass(page)
    await fits(page)
    for url in ("/setup/", "/setup/?provider=vllm", "/", "/pools/"):
        await page.goto(url)
        await fits(page)


async def test_list_of_models_fits_a_telephone_and_can_be_filtered(visit, fresh_site):
    page = await newcomer(visit, size=PHONE)
    hands = Hands(page)
    await hands.write("Name of the team", "Night Shift")
    await hands.press("Create team")
    await page.goto("/setup/?provider=vllm")
    await hands.write("Address", fresh_site.simulator_url)
    await hands.press("List models")
    await hands.write("Filter", "sim-del")
    await expect(page.locator(".model:visible")).to_have_count(1)
    await fits(page)


async def test_whole_set_up_works_without_script(visit, fresh_site):
    page = await newcomer(visit, java_script_enabled=False)
    hands = Hands(page)
    await hands.write("Name of the team", "Night Shift")
    await hands.press("Create team")
    await hands.press("Set up models")
    await hands.click(page.get_by_role("link", name="vLLM (local)"))
    await hands.write("Address", fresh_site.simulator_url)
    await page.get_by_role("button", name="List models", exact=True).last.click()
    await hands.mark(*MARKED)
    await hands.press("Save and test")
    for name in ("sim-atlas", "sim-delta"):
        await page.get_by_role("button", name=f"Test {name}").click()
    await page.get_by_role("button", name="Test sim-conductor").click()
    await all_pass(page)
    await hands.press("Use them and ask something")
    await expect(page.get_by_role("textbox", name="Prompt")).not_to_have_value("")
