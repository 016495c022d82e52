"""The ways in which clients of this protocol send their key."""

from __future__ import annotations

import pytest

from tests.gateway.anthropic.conftest import PATH, MessageApi, body
from tests.gateway.conftest import CHAT, Client
from tests.gateway.fakes import KEY, completed

FOREIGN = "sk-ant-of-another-service"
UNKNOWN = "cdk_unknown"


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": KEY},
        {"authorization": f"Bearer {KEY}"},
        {"x-api-key": KEY, "authorization": f"Bearer {FOREIGN}"},
        {"x-api-key": FOREIGN, "authorization": f"Bearer {KEY}"},
        {"x-api-key": FOREIGN, "authorization": f"bearer {KEY}"},
        {"x-api-key": KEY, "authorization": "Basic eDp5"},
    ],
)
async def test_key_is_found_in_either_header(
    api: MessageApi, headers: dict[str, str]
) -> None:
    api.client.run.plays(completed())
    answer = await api.client.ask("POST", PATH, body(), key=None, headers=headers)
    assert answer.status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": ""},
        {"x-api-key": FOREIGN},
        {"x-api-key": "k" * 1000},
        {"authorization": "Bearer "},
        {"authorization": KEY},
        {"x-api-key": KEY, "authorization": f"Bearer {UNKNOWN}"},
    ],
)
async def test_without_a_good_key_nothing_begins(
    api: MessageApi, headers: dict[str, str]
) -> None:
    answer = await api.client.ask("POST", PATH, body(), key=None, headers=headers)
    assert (answer.status, answer.error["type"]) == (401, "authentication_error")
    assert api.client.backend.orders == []


async def test_version_and_betas_may_be_missing_or_any(api: MessageApi) -> None:
    api.client.run.plays(completed())
    plain = await api.client.ask("POST", PATH, body())
    named = {"anthropic-version": "1999-01-01", "anthropic-beta": "a-b,c"}
    odd = await api.client.ask("POST", PATH, body(), headers=named)
    assert (plain.status, odd.status) == (200, 200)


async def test_chat_completions_take_the_key_too(client: Client) -> None:
    client.run.plays(completed())
    raw = b'{"model":"conductor-mini","messages":[{"role":"user","content":"?"}]}'
    answer = await client.ask("POST", CHAT, raw, key=None, headers={"x-api-key": KEY})
    assert answer.status == 200
