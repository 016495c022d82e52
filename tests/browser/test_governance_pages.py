"""Pages of governance fit a small screen, in light and in dark."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import expect

from apps.governance.services import policy_replace, review_settings_replace
from tests.audit.examples import make_export
from tests.browser.screens import fits
from tests.browser.test_review import SMALL
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.governance.made_trials import make_trial
from tests.governance.reviews.conftest import RUBRIC
from tests.governance.trials import runs_recorded
from tests.webhooks.examples import make_webhook

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
LONG = "Donaudampfschifffahrtsgesellschaft" * 2
"""A word that does not fit in one line."""
RULE = {
    "name": LONG,
    "conditions": {"words": [LONG], "expression": "counts.iban > 3 && tier == 'ultra'"},
    "effect": {"kind": "only_workers", "tags": ["eu"]},
}
PATTERN = {"name": "customer_number", "pattern": r"\bK-\d{6}\b" * 8}


@database_sync_to_async
def filled(cast: Cast) -> list[str]:
    """Give the team one of everything; return the addresses of the pages about it."""
    team = cast.team
    values = {"rules": [RULE], "patterns": [PATTERN]}
    policy_replace(team=team, values=values, actor=ACTOR)
    rubric = [*RUBRIC, {"name": LONG[:40]}]
    review_settings_replace(team=team, values={"rubric": rubric}, actor=ACTOR)
    make_export(team.id)
    runs_recorded(cast, LONG)
    trial = make_trial(team, LONG)
    webhook = make_webhook(team, LONG)["webhook_id"]
    return [
        "/policy/",
        "/policy/rules/0/",
        "/policy/trials/",
        f"/policy/trials/{trial}/",
        "/policy/history/",
        "/ledger/",
        "/ledger/1/",
        "/ledger/exports/",
        "/webhooks/",
        f"/webhooks/{webhook}/",
        "/webhooks/new/",
        "/review/settings/",
        "/team/stop/",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_of_governance_fit_a_small_screen(
    visit: Any, site: Any, scheme: str
) -> None:
    addresses = await filled(site.cast)
    page = (await visit(site.cast.alice, size=SMALL, color_scheme=scheme)).page
    for address in addresses:
        answer = await page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await fits(page)
        assert await page.evaluate("document.documentElement.scrollWidth") == SMALL[0]
