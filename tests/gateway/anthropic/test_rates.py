"""Rates of keys hold for messages and counts as for everything else."""

from __future__ import annotations

from dataclasses import replace

from tests.gateway.anthropic.conftest import MessageApi
from tests.gateway.fakes import completed, holder


def limit(api: MessageApi, requests: int) -> None:
    """Let the key make so many requests in a minute."""
    api.client.backend.caller = replace(holder(), requests_per_minute=requests)
    api.client.run.plays(completed())


async def test_limited_key_reads_where_it_stands(api: MessageApi) -> None:
    limit(api, 3)
    answer = await api.ask()
    assert answer.headers["x-ratelimit-remaining-requests"] == "2"
    assert answer.headers["request-id"] == answer.headers["x-request-id"]


async def test_past_the_limit_comes_429_and_no_run(api: MessageApi) -> None:
    limit(api, 1)
    await api.ask()
    answer = await api.ask()
    assert (answer.status, answer.error["type"]) == (429, "rate_limit_error")
    assert 0 < int(answer.headers["retry-after"]) <= 60
    assert "x-should-retry" not in answer.headers
    assert len(api.client.backend.orders) == 1


async def test_counting_counts_as_a_request(api: MessageApi) -> None:
    limit(api, 1)
    assert (await api.count()).status == 200
    assert (await api.count()).status == 429
