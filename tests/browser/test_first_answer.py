"""From signing in to a first planned answer with a listed provider: clicks, fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from playwright.async_api import Page, expect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from apps.accounts.models import Team
from apps.pools.models import Credential
from apps.runs.models import Run
from apps.simulator.app import create_app
from tests.browser import runs
from tests.browser.hands import Hands
from tests.conftest import PROVIDER_KEY
from tests.factories import PASSWORD, UserFactory
from tests.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
MODELS = ("sim-atlas", "sim-delta", "sim-conductor", "sim-ember")
MOST_CLICKS = {"one field": 7, "card": 8}
MOST_FIELDS = 3


class FewModels:
    """The simulator as a provider with few models, which it lists for its key."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = dict(scope.get("headers", ())).get(b"authorization")
        is_listing = scope.get("path") == "/v1/models"
        if is_listing and key == f"Bearer {PROVIDER_KEY}".encode():
            rows = [{"id": name, "object": "model"} for name in MODELS]
            listing = orjson.dumps({"object": "list", "data": rows})
            response = Response(listing, media_type="application/json")
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


@pytest.fixture(scope="module")
def locked_url() -> Iterator[str]:
    """The address of that provider."""
    app = FewModels(create_app(speed=0, api_key=PROVIDER_KEY))
    with serving(app, ws="none") as url:
        yield f"{url}/v1"


async def signed_in(visit: Any, settings: Any) -> Hands:
    """Sign a person in who has an account and no team, and make a team."""
    settings.SIGN_UP = "open"
    await runs.in_database(
        lambda: UserFactory.create(email="nina@example.org", name="Nina")
    )
    page: Page = (await visit(None)).page
    await page.goto("/")
    hands = Hands(page)
    await hands.write("Email", "nina@example.org")
    await hands.write("Password", PASSWORD)
    await hands.press("Sign in")
    await hands.press("Create team")
    await hands.press("Set up models")
    return hands


async def planned_answer(hands: Hands) -> None:
    """Go on from the list of models, of which the best are marked, to an answer."""
    page = hands.page
    await hands.press("Save and test")
    progress = page.locator("[data-setup]:not([data-run]) [data-progress]")
    await expect(progress).to_have_text("All tests passed.")
    button = page.get_by_role("button", name="Use them and ask something")
    await expect(button).to_be_in_viewport()
    await hands.press("Use them and ask something")
    await hands.press("Run")
    await runs.ends(page)
    team = await runs.in_database(lambda: Team.objects.get(name="Nina’s team"))
    run: Run = await runs.only_run(team)
    assert (run.tier, run.planner) == ("ultra", "language_model")
    assert run.steps_done > 1


async def test_a_pasted_key_leads_to_a_planned_answer(
    visit, site, settings, listed_provider
):
    hands = await signed_in(visit, settings)
    await hands.write("Ask real models", PROVIDER_KEY)
    await hands.press("Connect")
    await planned_answer(hands)
    assert hands.clicks <= MOST_CLICKS["one field"]
    assert hands.fields <= MOST_FIELDS


async def test_the_card_of_a_provider_leads_to_a_planned_answer(
    visit, site, settings, listed_provider
):
    hands = await signed_in(visit, settings)
    page = hands.page
    await hands.click(page.get_by_role("link", name=listed_provider.name))
    await hands.write("New key", PROVIDER_KEY)
    await hands.press("List models")
    await expect(page.locator("input[name=models]:checked")).to_have_count(3)
    await planned_answer(hands)
    assert hands.clicks <= MOST_CLICKS["card"]
    assert hands.fields <= MOST_FIELDS
    keys = await runs.in_database(lambda: Credential.objects.across_teams().count())
    assert keys == 1


async def test_all_models_are_marked_with_one_click(
    visit, site, settings, listed_provider
):
    hands = await signed_in(visit, settings)
    page = hands.page
    await hands.write("Ask real models", PROVIDER_KEY)
    await hands.press("Connect")
    marked = page.locator("input[name=models]:checked")
    await expect(page.get_by_text("Recommended", exact=True)).to_have_count(3)
    await expect(marked).to_have_count(3)
    everything = page.get_by_role("button", name="Select all")
    await everything.click()
    await expect(marked).to_have_count(4)
    await page.get_by_role("button", name="Select none").click()
    await expect(marked).to_have_count(0)
    await expect(everything).to_be_visible()


async def test_a_server_that_wants_a_key_lists_its_models_once_it_has_one(
    visit, site, settings, locked_url
):
    hands = await signed_in(visit, settings)
    page = hands.page
    await hands.write("Ask real models", locked_url)
    await hands.press("Connect")
    await expect(page.get_by_role("alert").first).to_contain_text("401")
    await page.get_by_label("Key", exact=True).select_option(label="A new key…")
    await hands.write("New key", PROVIDER_KEY)
    await hands.press("List models")
    await expect(page.locator("input[name=models]")).to_have_count(len(MODELS))
