"""How a conductor's server is doing comes to its page by itself."""

from __future__ import annotations

import pytest
from playwright.async_api import expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from apps.pools.models import Conductor
from tests.browser import runs
from tests.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
METRICS = """\
vllm:num_requests_running 4.0
vllm:num_requests_waiting 12.0
vllm:kv_cache_usage_perc 0.25
vllm:prefix_cache_queries_total 1000.0
vllm:prefix_cache_hits_total 750.0
"""


async def _models(request: Request) -> JSONResponse:
    return JSONResponse({"data": [{"id": "sim-conductor"}]})


async def _metrics(request: Request) -> PlainTextResponse:
    return PlainTextResponse(METRICS)


async def test_server_is_looked_at_once_the_page_stands(visit, site, settings):
    settings.CONDUCTOR_MAX_QUEUE = 8
    routes = [Route("/v1/models", _models), Route("/metrics", _metrics)]
    with serving(Starlette(routes=routes), ws="none") as url:

        def move() -> Conductor:
            conductor: Conductor = site.cast.team.conductors.get()
            conductor.base_url = f"{url}/v1"
            conductor.save()
            return conductor

        conductor = await runs.in_database(move)
        page = (await visit(site.cast.vera)).page
        await page.goto(f"/conductors/{conductor.id}/")
        server = page.get_by_role("region", name="Server")
        await expect(server.locator(".badge")).to_have_text("Queue full")
        await expect(server).to_contain_text("12 requests; with more than 8, runs go")
        await page.goto(f"/conductors/{conductor.id}/server/")
        await expect(page.get_by_role("region", name="Server")).to_contain_text("75%")
