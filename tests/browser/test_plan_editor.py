"""A plan that waits is edited in its form and its drawing, by mouse and keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import Locator, Page, expect

from apps.engine import events as ev
from tests.browser import runs
from tests.browser.plans import question_with, say
from tests.browser.test_governed_run import held
from tests.browser.test_review import SMALL, press
from tests.governance.test_policies import in_force

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
HOLD = {"name": "Four eyes", "effect": {"kind": "require_approval"}}
ONE, TWO, THREE = (say(word) for word in ("one", "two", "three"))
PLAN = question_with((0, ONE, []), (1, TWO, []), (0, THREE, [0, 1]))


@database_sync_to_async
def govern(site: Any) -> None:
    site.set_conductor("scripted-conductor")
    in_force(site, HOLD)


async def opened(visit: Any, site: Any, **options: Any) -> Page:
    """Return the page on which alice decides about the plan."""
    await govern(site)
    bob = (await visit(site.cast.bob)).page
    await bob.goto("/")
    await runs.start(bob, PLAN)
    place = await held(bob)
    page: Page = (await visit(site.cast.alice, **options)).page
    await page.goto(place)
    await expect(node(page, 1)).to_have_attribute("role", "button")
    return page


def node(page: Page, number: int) -> Locator:
    return page.locator("#plan-drawing .node").nth(number - 1)


def subtask(page: Page, number: int) -> Locator:
    return page.get_by_role("textbox", name=f"Subtask of step {number}")


def reads(page: Page, number: int, other: int) -> Locator:
    group = page.get_by_role("group", name=f"Step {number} reads", exact=True)
    return group.get_by_role("checkbox", name=f"step {other}")


async def subtasks(page: Page) -> list[str]:
    boxes = page.locator(".plan-editor__step textarea")
    found: list[str] = await boxes.evaluate_all("all => all.map((each) => each.value)")
    return found


async def drawn_edges(page: Page, number: int) -> None:
    await expect(page.locator("#plan-drawing .edge")).to_have_count(number)


async def accepted(page: Page, site: Any) -> ev.PlanAccepted:
    """Approve what the page shows; return the plan that the run then has."""
    await page.get_by_role("button", name="Approve the edited plan").click()
    await page.wait_for_url("**/runs/*/")
    await runs.ends(page)
    events = await runs.events_of(await runs.only_run(site.cast.team))
    (plan,) = [each for each in events if isinstance(each, ev.PlanAccepted)]
    return plan


# --- the form -------------------------------------------------------------------------


async def test_steps_are_moved_removed_and_given_to_others_with_the_mouse(visit, site):
    page = await opened(visit, site)
    await page.get_by_role("button", name="Edit the plan").click()
    await page.get_by_role("button", name="Move step 2 up").click()
    assert await subtasks(page) == [TWO, ONE, THREE]
    await page.get_by_role("button", name="Move step 1 down").click()
    assert await subtasks(page) == [ONE, TWO, THREE]
    await reads(page, 3, 1).uncheck()
    await drawn_edges(page, 1)
    await reads(page, 2, 1).check()
    await drawn_edges(page, 2)
    worker = page.get_by_role("combobox", name="Worker of step 2")
    names = await worker.locator("option").all_text_contents()
    await worker.select_option(names[-1])
    await expect(node(page, 2)).to_contain_text(names[-1])
    await page.get_by_role("button", name="Remove step 1").click()
    assert await subtasks(page) == [TWO, THREE]
    await drawn_edges(page, 1)
    plan = await accepted(page, site)
    assert plan.subtasks == (TWO, THREE)
    assert plan.workers[0] == names[-1]
    assert plan.access == ((), (0,))


async def test_the_form_can_be_used_with_the_keyboard_alone(visit, site):
    page = await opened(visit, site)
    await page.get_by_role("button", name="Edit the plan").focus()
    await press(page, "Enter")
    await expect(subtask(page, 1)).to_be_focused()
    await press(page, "Shift+Tab", "Shift+Tab")
    await expect(page.get_by_role("button", name="Move step 1 down")).to_be_focused()
    await press(page, "Enter")
    assert await subtasks(page) == [TWO, ONE, THREE]
    await expect(page.get_by_role("button", name="Move step 2 down")).to_be_focused()
    await press(page, "Shift+Tab", "Enter")
    assert await subtasks(page) == [ONE, TWO, THREE]
    # It cannot go further up, so the cursor is in the step itself.
    await expect(subtask(page, 1)).to_be_focused()
    await page.get_by_role("combobox", name="Worker of step 1").focus()
    before = await page.evaluate("document.activeElement.value")
    await press(page, "ArrowDown")
    assert await page.evaluate("document.activeElement.value") != before
    await reads(page, 3, 2).focus()
    await press(page, "Space")
    await drawn_edges(page, 1)
    await page.get_by_role("button", name="Remove step 2").focus()
    await press(page, "Enter")
    assert await subtasks(page) == [ONE, THREE]
    await expect(subtask(page, 2)).to_be_focused()
    assert (await accepted(page, site)).access == ((), (0,))


# --- the drawing ----------------------------------------------------------------------


async def test_a_click_on_a_node_leads_to_its_step_and_the_next_changes_what_it_reads(
    visit, site
):
    page = await opened(visit, site)
    await node(page, 3).click()
    await expect(subtask(page, 3)).to_be_focused()
    await expect(node(page, 3)).to_have_attribute(
        "aria-label", "Step 3, sim-delta, chosen"
    )
    await node(page, 1).click()
    await drawn_edges(page, 1)
    await expect(page.locator("#plan-said")).to_have_text(
        "Step 3 no longer reads step 1."
    )
    await expect(reads(page, 3, 1)).not_to_be_checked()
    await expect(node(page, 1)).to_have_attribute("aria-pressed", "false")
    await node(page, 1).click()
    await drawn_edges(page, 2)
    await expect(page.locator("#plan-said")).to_have_text("Step 3 now reads step 1.")
    await node(page, 3).click()  # ends the choice
    await node(page, 2).click()
    await expect(subtask(page, 2)).to_be_focused()
    await node(page, 1).click()
    await expect(reads(page, 2, 1)).to_be_checked()
    assert (await accepted(page, site)).access == ((), (0,), (0, 1))


async def test_the_drawing_can_be_used_with_the_keyboard_alone(visit, site):
    page = await opened(visit, site)
    await node(page, 3).focus()
    await press(page, "Enter")
    await expect(subtask(page, 3)).to_be_focused()
    await node(page, 2).focus()
    await press(page, "Space")
    await drawn_edges(page, 1)
    await expect(node(page, 2)).to_be_focused()  # in the new drawing
    await press(page, "Escape")
    assert await node(page, 2).get_attribute("aria-pressed") is None
    await press(page, "Enter")
    await expect(subtask(page, 2)).to_be_focused()
    assert (await accepted(page, site)).access == ((), (), (0,))


async def test_where_nobody_may_decide_the_drawing_is_only_a_drawing(visit, site):
    page = await opened(visit, site)
    address = page.url
    bob = (await visit(site.cast.bob)).page
    await bob.goto(address)
    await expect(bob.get_by_text("somebody else must decide")).to_be_visible()
    assert await node(bob, 1).get_attribute("role") is None
    await expect(bob.locator("#drawing-hint")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_editor_fits_a_small_screen(visit, site, scheme):
    page = await opened(visit, site, size=SMALL, color_scheme=scheme)
    await node(page, 3).click()
    await node(page, 1).click()
    await drawn_edges(page, 1)
    width = await page.evaluate("document.documentElement.scrollWidth")
    assert width == SMALL[0]
    chosen, other = [
        await node(page, number)
        .locator(".node__box")
        .evaluate("box => getComputedStyle(box).stroke")
        for number in (3, 2)
    ]
    assert chosen == other  # both stand out: the step, and one that it reads
    plain = (
        await node(page, 1)
        .locator(".node__box")
        .evaluate("box => getComputedStyle(box).strokeDasharray")
    )
    assert plain != "none"
