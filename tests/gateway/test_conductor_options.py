"""The field `conductor`: what one request gives away, and how its answer goes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.runs.types import UNRESTRICTED, RunRestrictions
from tests.gateway.conftest import Client
from tests.gateway.fakes import completed, holder


async def test_all_of_it_reaches_the_order(client: Client) -> None:
    client.run.plays(completed())
    wishes = {
        "workers": ["a", "b", "a"],
        "max_steps": 2,
        "rounds": 1,
        "max_cost_usd": "0.05",
        "delivery": "verified",
        "approval": "never",
        "exploration": "never",
        "data_class": "restricted",
        "family": "invoices",
    }
    assert (await client.chat(conductor=wishes)).status == 200
    (order,) = client.backend.orders
    limits = (("a", "b"), 2, 1, 50_000)
    assert order.restrictions == RunRestrictions(
        *limits, "restricted", approval="never", exploration="never"
    )
    assert (order.delivery, order.family) == ("verified", "invoices")


@pytest.mark.parametrize("wishes", [None, {}, {"approval": None, "delivery": None}])
async def test_nothing_changes_nothing(client: Client, wishes: Any) -> None:
    client.run.plays(completed())
    await client.chat(conductor=wishes)
    (order,) = client.backend.orders
    assert (order.restrictions, order.delivery) == (UNRESTRICTED, None)


async def test_rounds_may_be_named_both_ways(client: Client) -> None:
    client.run.plays(completed())
    await client.chat(conductor={"rounds": 2, "max_rounds": 2})
    assert client.backend.orders[0].restrictions.max_rounds == 2


@pytest.mark.parametrize(("asked", "expected"), [(None, "verified"), ("live", "live")])
async def test_the_key_delivers_unless_the_request_says_otherwise(
    client: Client, asked: str | None, expected: str
) -> None:
    client.run.plays(completed())
    client.backend.caller = replace(holder(), delivery="verified")
    await client.chat(conductor={"delivery": asked})
    assert client.backend.orders[0].delivery == expected


@pytest.mark.parametrize(
    ("wishes", "param"),
    [
        ([], "conductor"),
        ({"worker": "a"}, "conductor.worker"),
        ({"workers": []}, "conductor.workers"),
        ({"workers": ["a", ""]}, "conductor.workers[1]"),
        ({"max_steps": 0}, "conductor.max_steps"),
        ({"max_rounds": 1.5}, "conductor.max_rounds"),
        ({"rounds": "2"}, "conductor.rounds"),
        ({"rounds": 1, "max_rounds": 2}, "conductor.rounds"),
        ({"max_cost_usd": 0.05}, "conductor.max_cost_usd"),
        ({"max_cost_usd": "0"}, "conductor.max_cost_usd"),
        ({"delivery": "soon"}, "conductor.delivery"),
        ({"delivery": ["live"]}, "conductor.delivery"),
        ({"approval": "always"}, "conductor.approval"),
        ({"approval": True}, "conductor.approval"),
        ({"exploration": "always"}, "conductor.exploration"),
    ],
)
async def test_what_we_cannot_grant_is_named(
    client: Client, wishes: Any, param: str
) -> None:
    answer = await client.chat(conductor=wishes)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert client.backend.orders == []
