"""Failures in the shape of Anthropic's API, on every path that is its own."""

from __future__ import annotations

from typing import Any

import pytest

from apps.budgets.errors import BudgetExceeded
from apps.core.errors import ConductorError, NotFound, Overloaded, PayloadTooLarge
from apps.engine.events import RunCancelled
from tests.gateway.anthropic.conftest import COUNT, PATH, VERSION, MessageApi, body
from tests.gateway.fakes import USAGE, Exchanged, failed, holder


def error_of(answer: Exchanged) -> tuple[int, str, str]:
    """Return status, type and code, once the shape is as the protocol has it."""
    told = answer.json
    assert told["type"] == "error"
    assert set(told["error"]) == {"type", "message", "code"}
    assert told["request_id"] == answer.headers["request-id"]
    assert told["request_id"] == answer.headers["x-request-id"]
    return answer.status, told["error"]["type"], told["error"]["code"]


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (
            NotFound("there is no model 'x'", param="model"),
            (404, "not_found_error", "model_not_found"),
        ),
        (Overloaded("full"), (529, "overloaded_error", "overloaded")),
        (PayloadTooLarge("big"), (413, "request_too_large", "payload_too_large")),
        (
            BudgetExceeded("used up"),
            (402, "billing_error", "insufficient_quota"),
        ),
        (
            BudgetExceeded("in use", retry_after_s=5),
            (429, "rate_limit_error", "insufficient_quota"),
        ),
        (RuntimeError("boom"), (500, "api_error", "internal_error")),
    ],
)
async def test_refusal_has_the_protocols_type(
    api: MessageApi, refusal: ConductorError, expected: tuple[int, str, str]
) -> None:
    api.client.backend.refuses(refusal)
    assert error_of(await api.ask()) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("limit_cost", (402, "billing_error", "insufficient_quota")),
        ("limit_wall_time", (504, "timeout_error", "timeout")),
        ("limit_calls", (400, "invalid_request_error", "limit_calls")),
        ("policy_denied", (403, "permission_error", "policy_denied")),
        ("worker_failed", (502, "api_error", "worker_failed")),
    ],
)
async def test_failed_run_has_the_protocols_type(
    api: MessageApi, code: str, expected: tuple[int, str, str]
) -> None:
    api.client.run.plays(failed(code, "why"))
    assert error_of(await api.ask()) == expected


async def test_conversation_that_is_too_long_is_told_in_words_clients_know(
    api: MessageApi,
) -> None:
    api.client.run.plays(failed("context_length_exceeded", "9 tokens of 8"))
    answer = await api.ask()
    assert error_of(answer)[0] == 400
    assert answer.error["message"] == "prompt is too long: 9 tokens of 8"


async def test_overload_says_when_to_come_back(api: MessageApi) -> None:
    api.client.backend.refuses(Overloaded("full", retry_after_s=7))
    assert (await api.ask()).headers["retry-after"] == "7"


@pytest.mark.parametrize(
    "refusal", [BudgetExceeded("used up"), NotFound("no", param="model")]
)
async def test_clients_are_told_not_to_retry_what_stays_so(
    api: MessageApi, refusal: ConductorError
) -> None:
    api.client.backend.refuses(refusal)
    assert (await api.ask()).headers["x-should-retry"] == "false"


async def test_restart_may_be_retried(api: MessageApi) -> None:
    api.client.run.plays(RunCancelled("shutdown", USAGE, 0, False, 1, 1))
    answer = await api.ask()
    assert error_of(answer) == (529, "overloaded_error", "overloaded")
    assert "x-should-retry" not in answer.headers


@pytest.mark.parametrize("path", [PATH, COUNT])
async def test_key_that_may_not_run_is_refused(api: MessageApi, path: str) -> None:
    api.client.backend.caller = holder("runs:read")
    answer = await api.client.ask("POST", path, body(), headers=VERSION)
    assert error_of(answer) == (403, "permission_error", "permission_denied")


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", PATH, 405, "invalid_request_error"),
        ("DELETE", COUNT, 405, "invalid_request_error"),
        ("POST", f"{PATH}/batches", 404, "not_found_error"),
        ("POST", f"{PATH}/", 404, "not_found_error"),
    ],
)
@pytest.mark.parametrize("headers", [{}, VERSION])
async def test_paths_below_answer_in_shape_whatever_the_headers(
    api: MessageApi,
    method: str,
    path: str,
    status: int,
    kind: str,
    headers: dict[str, str],
) -> None:
    answer = await api.client.ask(method, path, headers=headers)
    assert error_of(answer)[:2] == (status, kind)


@pytest.mark.parametrize("path", ["/v1/skills", "/v1/v1/messages"])
async def test_version_in_the_head_asks_for_the_shape(
    api: MessageApi, path: str
) -> None:
    assert error_of(await api.client.ask("GET", path, headers=VERSION))[0] == 404
    plain: Any = (await api.client.ask("GET", path)).json
    assert plain["error"]["code"] == "not_found"


async def test_base_url_with_a_version_too_many_is_named(api: MessageApi) -> None:
    answer = await api.client.ask("POST", "/v1/v1/messages", headers=VERSION)
    assert "base URL" in answer.error["message"]


async def test_chat_completions_keep_their_shape(api: MessageApi) -> None:
    path = "/v1/chat/completions"
    answer = await api.client.ask("POST", path, b"{", headers=VERSION)
    assert answer.error["code"] == "invalid_request_error"
    assert "request-id" not in answer.headers


async def test_body_that_is_too_large_is_refused_in_shape(
    api: MessageApi, settings: Any
) -> None:
    settings.MAX_REQUEST_BYTES = 20
    assert error_of(await api.ask())[:2] == (413, "request_too_large")


async def test_form_is_refused_in_shape(api: MessageApi) -> None:
    headers = {"content-type": "multipart/form-data"}
    answer = await api.client.ask("POST", PATH, body(), headers=headers)
    assert error_of(answer)[:2] == (415, "invalid_request_error")


@pytest.mark.parametrize(
    "thread",
    [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}],
)
async def test_a_thread_is_refused_in_the_words_that_clients_go_on_without_it_after(
    api: MessageApi, thread: dict[str, str]
) -> None:
    answer = await api.ask(thread=thread)
    assert answer.status == 400
    error = answer.json["error"]
    assert error["type"] == "invalid_request_error"
    assert error["code"] == "thread_unsupported_request"
    assert error["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["thread"],
    }
