"""The site policy: set on the operator's page, read on a team's, on small screens."""

from __future__ import annotations

import json

import pytest
from channels.db import database_sync_to_async
from playwright.async_api import expect

from tests.browser.screens import PHONE, fits
from tests.factories import UserFactory

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
RULE = {
    "name": "Falcon stays in the EU",
    "conditions": {"words": ["Project Falcon"]},
    "effect": {"kind": "only_workers", "tags": ["eu"]},
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_operator_sets_a_rule_that_a_member_reads(visit, site, scheme):
    operator = await database_sync_to_async(UserFactory.create)(
        name="Olga", is_staff=True, is_superuser=True
    )
    visitor = await visit(operator, size=PHONE, color_scheme=scheme)
    visitor.guard.expect("status of 400")
    page = visitor.page
    await page.goto("/admin/policy/")
    await expect(page.get_by_text("The site has no rules.")).to_be_visible()
    field = page.get_by_label("Policy", exact=True)
    await field.fill('{"rules": 3}')
    await page.get_by_role("button", name="Save as a new version").click()
    await expect(field).to_have_value('{"rules": 3}')
    await field.fill(json.dumps({"rules": [RULE]}, indent=2))
    await page.get_by_role("button", name="Save as a new version").click()
    words = "If the prompt contains “Project Falcon”: use only workers tagged “eu”."
    await expect(page.get_by_text(words)).to_be_visible()
    await fits(page)
    reader = (await visit(site.cast.vera, size=PHONE, color_scheme=scheme)).page
    await reader.goto("/policy/")
    await expect(reader.get_by_text(words)).to_be_visible()
    await fits(reader)
