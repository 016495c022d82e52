"""Which models a provider lists, in every shape that providers send."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apps.llm import model_listing
from apps.llm.errors import BadResponse, LlmError, Redirected, UnusableResponse
from apps.llm.model_listing import list_models
from apps.llm.testing import FakeProvider, Script, json_script, refusal_script
from apps.llm.types import Timeouts
from tests.llm.conftest import KEY, endpoint_of


def listing(*names: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name} for name in names]}


async def listed(transport, script: Script) -> list[str]:
    async with FakeProvider(script) as provider:
        return await list_models(transport, endpoint_of(provider))


async def test_names_are_sorted_and_told_once(transport):
    assert await listed(transport, json_script(listing("b", "a", "b"))) == ["a", "b"]


async def test_bare_list_is_understood(transport):
    assert await listed(transport, json_script([{"id": "a"}, {"id": "b"}])) == [
        "a",
        "b",
    ]


async def test_request_is_a_get_with_the_key(transport):
    async with FakeProvider(json_script(listing("a"))) as provider:
        await list_models(transport, endpoint_of(provider))
    (seen,) = provider.requests
    assert (seen.method, seen.path, seen.body) == ("GET", "/v1/models", b"")
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert "content-type" not in seen.headers


async def test_names_nobody_could_use_are_left_out(transport):
    names = ["a", "", 7, None, "x" * 201, "b\nc", {"id": "d"}]
    answer = {"data": [*listing(*names)["data"], "e", None, {"name": "f"}]}
    assert await listed(transport, json_script(answer)) == ["a"]


async def test_no_more_names_than_a_page_can_show(transport):
    names = [f"m{number:05}" for number in range(model_listing.MAX_MODELS + 5)]
    assert (
        len(await listed(transport, json_script(listing(*names))))
        == model_listing.MAX_MODELS
    )


@pytest.mark.parametrize("answer", [{}, {"data": None}, {"data": {}}, 7, "a", None])
async def test_anything_else_is_a_bad_response(transport, answer: Any):
    with pytest.raises(BadResponse, match="not a list of models"):
        await listed(transport, json_script(answer))


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b"\xff"])
async def test_answer_that_is_no_json_is_a_bad_response(transport, body: bytes):
    with pytest.raises(BadResponse, match="not JSON"):
        await listed(transport, Script([body] if body else []))


async def test_endless_answer_is_cut_off(transport, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model_listing, "MAX_LISTING_BYTES", 100)
    with pytest.raises(UnusableResponse, match="more than 100 bytes"):
        await listed(transport, json_script(listing(*"abcdefghijklmnopq")))


async def test_refusal_says_what_the_provider_said(transport):
    with pytest.raises(LlmError, match="answered 401: wrong key") as caught:
        await listed(transport, refusal_script(401, f"wrong key {KEY}"))
    assert KEY not in caught.value.message


async def test_redirect_is_named_and_not_followed(transport):
    async with FakeProvider(default=json_script(listing("a"))) as target:
        headers = [("location", f"{target.base_url}/models?key={KEY}")]
        with pytest.raises(Redirected, match="a redirect to http://127") as caught:
            await listed(transport, Script(status=302, headers=headers))
    assert target.requests == []
    assert KEY not in caught.value.message
    assert caught.value.fault == "bad_response"


async def test_silent_provider_is_not_awaited_for_ever(transport):
    script = Script(before_head=asyncio.Event())
    async with FakeProvider(script) as provider:
        limits = Timeouts(first_byte_s=0.05, total_s=20)
        with pytest.raises(LlmError) as caught:
            await list_models(transport, endpoint_of(provider, limits))
    assert caught.value.fault == "first_byte_timeout"
