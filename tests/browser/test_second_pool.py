"""A team with two pools: each worker that the page offers can be asked."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser import runs
from tests.factories import PoolFactory

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_worker_of_another_pool_answers_when_it_is_asked_directly(visit, site):
    await runs.in_database(
        lambda: PoolFactory.create(
            team=site.cast.team,
            name="research",
            is_default=False,
            base_url=site.simulator_url,
            workers=("sim-atlas",),
        )
    )
    page = (await visit(site.cast.bob)).page
    await runs.ask_worker(page, "sim-atlas", "What is the capital of Italy?")
    await runs.ends(page)
    await expect(page.locator("#run-answer .prose")).to_contain_text("Rome")
