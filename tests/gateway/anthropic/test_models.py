"""The list of models as clients of this protocol read it, and counted tokens."""

from __future__ import annotations

import pytest
from anthropic.types import ModelInfo

from tests.gateway.anthropic.conftest import (
    PATH,
    USER,
    VERSION,
    WEATHER,
    MessageApi,
    body,
)
from tests.gateway.fakes import MODELS, holder

LIST = "/v1/models"


async def names(api: MessageApi, query: str) -> tuple[list[str], bool]:
    """Return the names of one page, and whether there are more."""
    answer = await api.client.ask("GET", f"{LIST}{query}", headers=VERSION)
    assert answer.status == 200, answer.body
    page = answer.json
    found = [ModelInfo.model_validate(model).id for model in page["data"]]
    if found:
        assert (page["first_id"], page["last_id"]) == (found[0], found[-1])
    return found, page["has_more"]


@pytest.mark.parametrize(
    ("query", "expected", "has_more"),
    [
        ("", MODELS, False),
        ("?limit=1000", MODELS, False),
        ("?limit=2", MODELS[:2], True),
        (f"?limit=2&after_id={MODELS[1]}", MODELS[2:4], True),
        (f"?limit=2&after_id={MODELS[3]}", MODELS[4:], False),
        (f"?after_id={MODELS[4]}", (), False),
        (f"?limit=2&before_id={MODELS[3]}", MODELS[1:3], True),
        (f"?limit=5&before_id={MODELS[1]}", MODELS[:1], False),
    ],
)
async def test_models_come_in_pages(
    api: MessageApi, query: str, expected: tuple[str, ...], has_more: bool
) -> None:
    assert await names(api, query) == (list(expected), has_more)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=²",
        "after_id=nothing",
        f"after_id={MODELS[0]}&before_id={MODELS[1]}",
    ],
)
async def test_page_that_cannot_be_is_refused(api: MessageApi, query: str) -> None:
    answer = await api.client.ask("GET", f"{LIST}?{query}", headers=VERSION)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")


async def test_query_with_too_many_fields_is_refused(api: MessageApi) -> None:
    query = "&".join(f"a{number}=1" for number in range(60))
    answer = await api.client.ask("GET", f"{LIST}?{query}", headers=VERSION)
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")


async def test_one_model_is_found_by_its_name(api: MessageApi) -> None:
    answer = await api.client.ask("GET", f"{LIST}/lab/mini", headers=VERSION)
    assert ModelInfo.model_validate(answer.json).id == "lab/mini"
    missing = await api.client.ask("GET", f"{LIST}/nothing", headers=VERSION)
    assert (missing.status, missing.error["type"]) == (404, "not_found_error")


async def test_without_the_version_the_list_is_openais(api: MessageApi) -> None:
    answer = await api.client.ask("GET", LIST)
    assert answer.json["object"] == "list"


# --- counting ------------------------------------------------------------------------


async def tokens(api: MessageApi, **fields: object) -> int:
    """Return how many tokens a request is counted as."""
    answer = await api.count(max_tokens=..., **fields)
    assert answer.status == 200, answer.body
    assert list(answer.json) == ["input_tokens"]
    count: int = answer.json["input_tokens"]
    return count


async def test_counting_starts_no_run(api: MessageApi) -> None:
    assert await tokens(api) > 0
    assert api.client.backend.orders == []


async def test_everything_that_is_sent_counts(api: MessageApi) -> None:
    plain = await tokens(api)
    assert await tokens(api, system="Answer in one word.") > plain
    assert await tokens(api, tools=[WEATHER]) > plain
    image = {
        "type": "image",
        "source": {"type": "url", "url": "https://a.example/b"},
    }
    seen = [USER, {"role": "user", "content": [image]}]
    assert await tokens(api, messages=seen) > plain + 500


async def test_count_is_what_a_stream_says_first(api: MessageApi) -> None:
    counted = await tokens(api, tools=[WEATHER], system="Be brief.")
    exchanged = api.open(tools=[WEATHER], system="Be brief.", stream=True)
    await api.client.run.heard.wait()
    exchanged.leave()
    await api.client.done()
    assert f'"input_tokens":{counted},'.encode() in exchanged.body


async def test_model_that_is_not_there_has_no_count(api: MessageApi) -> None:
    answer = await api.count(model="nothing")
    assert (answer.status, answer.error["type"]) == (404, "not_found_error")


async def test_worker_is_counted_only_for_who_may_call_it(api: MessageApi) -> None:
    assert await tokens(api, model="worker/writer") > 0
    api.client.backend.caller = holder("runs:create")
    assert (await api.count(model="worker/writer")).status == 404


async def test_counting_needs_a_key(api: MessageApi) -> None:
    path = f"{PATH}/count_tokens"
    answer = await api.client.ask("POST", path, body(), key=None, headers=VERSION)
    assert (answer.status, answer.error["type"]) == (401, "authentication_error")
