"""The same models and faults over every wire protocol."""

from __future__ import annotations

import httpx
import pytest

from apps.simulator.app import create_app
from tests.simulator.speaking import DIALECTS, Dialect, Gemini

QUESTION = "What is 6*7?"
EVERY = pytest.mark.parametrize("dialect", DIALECTS, ids=str)
BOTH = pytest.mark.parametrize("stream", [False, True])

STOPPED = {"openai": "stop", "anthropic": "end_turn", "gemini": "STOP"}
TOO_LONG = {"openai": "length", "anthropic": "max_tokens", "gemini": "MAX_TOKENS"}
FILTERED = {"openai": "content_filter", "anthropic": "refusal", "gemini": "SAFETY"}
DECLINED = {
    "openai": "stop",
    "anthropic": "refusal",
    "gemini": "PROHIBITED_CONTENT",
}
STATUSES = {
    "fault-429": (429, 429, 429),
    "fault-500": (500, 500, 500),
    "fault-overloaded": (503, 529, 503),
    "fault-quota": (429, 402, 429),
    "fault-401": (401, 401, 401),
    "fault-403": (403, 403, 403),
    "fault-404": (404, 404, 404),
    "fault-400": (400, 400, 400),
    "fault-filtered": (400, 400, 400),
    "fault-context-length": (400, 400, 400),
    "context-5": (400, 400, 400),
    "flaky-1": (500, 500, 500),
    "nobody": (404, 404, 404),
}
"""By protocol, in the order above."""
KINDS = {
    "fault-429": ("rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    "fault-500": ("server_error", "api_error", "INTERNAL"),
    "fault-overloaded": ("overloaded", "overloaded_error", "UNAVAILABLE"),
    "fault-quota": ("insufficient_quota", "billing_error", "RESOURCE_EXHAUSTED"),
    "fault-401": ("invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
    "fault-403": ("permission_denied", "permission_error", "PERMISSION_DENIED"),
    "fault-404": ("model_not_found", "not_found_error", "NOT_FOUND"),
    "fault-400": ("invalid_value", "invalid_request_error", "INVALID_ARGUMENT"),
    "fault-filtered": ("content_filter", "invalid_request_error", "INVALID_ARGUMENT"),
}
FIELDS = ("code", "type", "status")
"""Where each protocol names the kind of an error."""


@EVERY
@BOTH
async def test_answer_is_right_and_complete(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    said = await dialect.ask(client, "sim-atlas", QUESTION, stream=stream)
    assert said.text.startswith("**42**")
    assert said.reason == STOPPED[dialect.name]
    assert said.model == "sim-atlas"
    assert said.prompt_tokens == 7


@EVERY
async def test_stream_and_whole_answer_are_the_same(
    client: httpx.AsyncClient, dialect: Dialect
) -> None:
    for model in ("sim-ember", "thinker", "filtered", "refuser", "tokens-20-0"):
        whole = await dialect.ask(client, model, QUESTION)
        streamed = await dialect.ask(client, model, QUESTION, stream=True)
        assert streamed == whole


@EVERY
@BOTH
@pytest.mark.parametrize("model", sorted(STATUSES))
async def test_refusal_has_the_status_of_its_protocol(
    client: httpx.AsyncClient, dialect: Dialect, model: str, stream: bool
) -> None:
    response = await dialect.response(client, model, QUESTION, stream=stream)
    assert response.status_code == STATUSES[model][DIALECTS.index(dialect)]
    assert response.json()["error"]["message"]


@EVERY
@pytest.mark.parametrize("model", sorted(KINDS))
async def test_refusal_is_named_in_the_words_of_its_protocol(
    client: httpx.AsyncClient, dialect: Dialect, model: str
) -> None:
    error = (await dialect.response(client, model, QUESTION)).json()["error"]
    place = DIALECTS.index(dialect)
    assert error[FIELDS[place]] == KINDS[model][place]


@EVERY
async def test_rate_limit_says_when_to_come_back(
    client: httpx.AsyncClient, dialect: Dialect
) -> None:
    response = await dialect.response(client, "fault-429", QUESTION)
    assert response.headers["retry-after"] == "1"


@EVERY
async def test_flaky_model_fails_as_often_as_it_says(
    client: httpx.AsyncClient, dialect: Dialect
) -> None:
    answers = [await dialect.response(client, "flaky-2", QUESTION) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [500, 500, 200, 200]


@EVERY
@pytest.mark.parametrize("model", ["fault-cut", "cut-4", "fault-refuse"])
@BOTH
async def test_connection_breaks(
    remote: httpx.AsyncClient, dialect: Dialect, model: str, stream: bool
) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await dialect.response(remote, model, QUESTION, stream=stream)


@EVERY
@pytest.mark.parametrize("model", ["fault-cut-quiet", "cut-quiet-4"])
async def test_quiet_cut_lacks_the_end_marker(
    client: httpx.AsyncClient, dialect: Dialect, model: str
) -> None:
    said = await dialect.ask(client, model, QUESTION, stream=True)
    assert said.text.startswith("**42**")
    assert said.reason == ""


@EVERY
@pytest.mark.parametrize(
    "model", ["fault-silent", "fault-stall", "fault-idle", "idle-1"]
)
@BOTH
async def test_silence_lasts_until_the_client_leaves(
    remote: httpx.AsyncClient, dialect: Dialect, model: str, stream: bool
) -> None:
    remote.timeout = httpx.Timeout(5, read=0.2)
    with pytest.raises(httpx.ReadTimeout):
        await dialect.response(remote, model, QUESTION, stream=stream)


@EVERY
@BOTH
async def test_html_instead_of_json(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    response = await dialect.response(client, "fault-html", QUESTION, stream=stream)
    assert response.headers["content-type"].startswith("text/html")


@EVERY
@BOTH
async def test_broken_json(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    response = await dialect.response(client, "fault-bad-json", QUESTION, stream=stream)
    with pytest.raises(ValueError, match=r"."):
        dialect.said(response.text, stream=stream)


@EVERY
@pytest.mark.parametrize(
    ("model", "text"), [("error-2", "**42*"), ("fault-overloaded-event", "")]
)
async def test_error_inside_a_stream(
    client: httpx.AsyncClient, dialect: Dialect, model: str, text: str
) -> None:
    said = await dialect.ask(client, model, QUESTION, stream=True)
    assert said.error["message"]
    assert said.reason == ""
    assert said.text.startswith(text)


@EVERY
async def test_error_under_status_200(
    client: httpx.AsyncClient, dialect: Dialect
) -> None:
    said = await dialect.ask(client, "fault-error-event", QUESTION)
    assert said.error["message"] == "The model crashed."


@EVERY
@BOTH
async def test_missing_usage(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    said = await dialect.ask(client, "fault-no-usage", QUESTION, stream=stream)
    assert said.text.startswith("**42**")
    assert said.prompt_tokens is None
    assert said.completion_tokens is None


@EVERY
@BOTH
async def test_empty_answer_is_complete(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    said = await dialect.ask(client, "fault-empty", QUESTION, stream=stream)
    assert (said.text, said.reason) == ("", STOPPED[dialect.name])


@EVERY
@BOTH
@pytest.mark.parametrize(
    ("model", "reasons"),
    [("fault-length", TOO_LONG), ("filtered", FILTERED), ("refuser", DECLINED)],
)
async def test_reason_is_told_in_the_words_of_the_protocol(
    client: httpx.AsyncClient,
    dialect: Dialect,
    model: str,
    reasons: dict[str, str],
    stream: bool,
) -> None:
    said = await dialect.ask(client, model, QUESTION, stream=stream)
    assert said.reason == reasons[dialect.name]


@EVERY
@BOTH
async def test_other_model_answers(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    said = await dialect.ask(client, "fault-other-model", QUESTION, stream=stream)
    assert said.model == "another-model-2026"


@EVERY
async def test_redirect_leads_away(client: httpx.AsyncClient, dialect: Dialect) -> None:
    response = await dialect.response(client, "fault-redirect", QUESTION)
    assert response.status_code == 307
    path = dialect.url("fault-redirect", stream=False)
    assert response.headers["location"] == f"{path}/"


@EVERY
async def test_thinking_is_apart_from_the_answer(
    client: httpx.AsyncClient, dialect: Dialect
) -> None:
    said = await dialect.ask(client, "thinker", QUESTION, stream=True)
    assert said.reasoning.startswith("Let me see.")
    assert said.text.startswith("**42**")
    assert said.completion_tokens is not None and said.completion_tokens > 16


@EVERY
@BOTH
async def test_spelled_out_call_comes_with_its_text(
    client: httpx.AsyncClient, dialect: Dialect, stream: bool
) -> None:
    text = '[[say Let me look.]] [[call look {"at": "this"}]] [[call think {}]]'
    said = await dialect.ask(client, "scripted", text, stream=stream)
    assert said.text == "Let me look."
    names = [name for name, _ in said.calls]
    assert names == ["look", "think"]
    assert "this" in said.calls[0][1]


@EVERY
@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_only_post_asks(
    client: httpx.AsyncClient, dialect: Dialect, method: str
) -> None:
    url = dialect.url("echo", stream=False)
    response = await client.request(method, url, headers=dialect.headers)
    assert response.status_code == 405


@EVERY
async def test_key_is_required_where_the_protocol_puts_it(dialect: Dialect) -> None:
    transport = httpx.ASGITransport(app=create_app(speed=0, api_key="right"))
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as locked:
        let_in = await dialect.response(locked, "echo", "hi")
        body = dialect.body("echo", "hi", stream=False)
        wrong = dict.fromkeys(dialect.headers, "wrong")
        url = dialect.url("echo", stream=False)
        kept_out = await locked.post(url, json=body, headers=wrong)
    assert let_in.status_code == 200
    assert kept_out.status_code == 401


async def test_gemini_takes_its_key_from_the_address() -> None:
    transport = httpx.ASGITransport(app=create_app(speed=0, api_key="right"))
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as locked:
        url = "/v1beta/models/echo:generateContent?key=right"
        body = Gemini().body("echo", "hi", stream=False)
        response = await locked.post(url, json=body)
    assert response.status_code == 200
