"""Rates on the wire: headers on every answer of a limited key, 429 past the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.budgets.errors import BudgetExceeded
from tests.gateway.conftest import Client
from tests.gateway.fakes import completed, holder


def limited(client: Client, **limits: Any) -> None:
    client.backend.caller = replace(holder(), **limits)
    client.run.plays(completed())


async def test_a_limited_key_reads_where_it_stands(client):
    limited(client, requests_per_minute=3, tokens_per_minute=1_000)
    said = await client.chat()
    assert said.status == 200
    assert said.headers["x-ratelimit-remaining-requests"] == "2"
    assert int(said.headers["x-ratelimit-remaining-tokens"]) < 1_000


async def test_a_key_without_limits_reads_nothing(client):
    limited(client)
    said = await client.chat()
    assert not [name for name in said.headers if name.startswith("x-ratelimit")]
    assert client.backend.orders[0].meter is None


async def test_streams_carry_the_headers_too(client):
    limited(client, requests_per_minute=3)
    said = await client.chat(stream=True)
    assert said.headers["x-ratelimit-remaining-requests"] == "2"


async def test_past_the_limit_comes_429_and_no_run(client):
    limited(client, requests_per_minute=1)
    await client.chat()
    said = await client.chat()
    assert (said.status, said.error["code"]) == (429, "rate_limit_exceeded")
    assert said.error["type"] == "rate_limit_error"
    assert 0 < int(said.headers["retry-after"]) <= 60
    assert said.headers["x-ratelimit-remaining-requests"] == "0"
    assert len(client.backend.orders) == 1


async def test_the_list_of_models_counts_as_a_request(client):
    limited(client, requests_per_minute=1)
    assert (await client.ask("GET", "/v1/models")).status == 200
    assert (await client.ask("GET", "/v1/models")).status == 429


async def test_the_run_counts_its_tokens_for_the_key(client):
    limited(client, tokens_per_minute=1_000)
    await client.chat()
    meter = client.backend.orders[0].meter
    assert meter is not None
    meter.settle(5_000)
    assert (await client.chat()).status == 429


@pytest.mark.parametrize(
    ("wait_s", "retry_after", "should_retry"),
    [(5, "5", None), (86_000, "86000", "false"), (None, None, "false")],
)
async def test_a_budget_says_whether_asking_again_will_help(
    client, wait_s, retry_after, should_retry
):
    client.backend.refuses(BudgetExceeded("nothing left", retry_after_s=wait_s))
    said = await client.chat()
    assert (said.status, said.error["type"]) == (429, "insufficient_quota")
    assert said.headers.get("retry-after") == retry_after
    assert said.headers.get("x-should-retry") == should_retry
