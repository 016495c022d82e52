"""What a provider says is named rightly, and repeated without secrets."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.error_classification import error_event, refusal, retry_after
from apps.llm.errors import LlmError
from apps.llm.types import Endpoint

KEY = "sk-canary-0123456789"
ENDPOINT = Endpoint(
    "worker-a", "https://h/v1", "m", KEY, extra_headers=(("x-team", "extra-canary"),)
)
LONG = "context_length"
NOW_S = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def refused(status: int, body: Any, headers: dict[str, str] | None = None) -> LlmError:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return refusal(ENDPOINT, status, headers or {}, raw, now_s=NOW_S)


def error(message: str = "no", code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "t", "code": code}}


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, "bad_request"),
        (401, "unauthorized"),
        (402, "quota"),
        (403, "unauthorized"),
        (404, "not_found"),
        (405, "bad_request"),
        (408, "server_error"),
        (409, "server_error"),
        (413, "bad_request"),
        (422, "bad_request"),
        (429, "rate_limited"),
        (500, "server_error"),
        (503, "server_error"),
        (529, "server_error"),
        (204, "bad_response"),
        (301, "bad_response"),
        (307, "bad_response"),
    ],
)
def test_status_decides_the_fault(status: int, fault: str):
    assert refused(status, error()).fault == fault


@pytest.mark.parametrize(
    ("status", "code", "fault"),
    [
        (429, "insufficient_quota", "quota"),
        (400, "billing_hard_limit_reached", "quota"),
        (429, "rate_limit_exceeded", "rate_limited"),
        (413, "rate_limit_exceeded", "bad_request"),
        (400, "content_filter", "content_filtered"),
        (400, "content_policy_violation", "content_filtered"),
        (500, "content_filter", "server_error"),
        (400, "context_length_exceeded", "context_length"),
        (400, "exceed_context_size_error", "context_length"),
        (500, "context_length_exceeded", "server_error"),
    ],
)
def test_code_refines_the_fault(status: int, code: str, fault: str):
    assert refused(status, error(code=code)).fault == fault


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. You requested 5000.",
        "the request exceeds the available context size",
        "prompt is too long: 200001 tokens > 200000 maximum",
        "The input token count (40000) exceeds the maximum number of tokens allowed",
        "The context window of the model was exceeded",
    ],
)
def test_plain_words_say_that_the_context_is_too_long(message: str):
    assert refused(400, error(message, code=400)).fault == "context_length"


@pytest.mark.parametrize(
    ("status", "kind", "message", "fault"),
    [
        (400, "invalid_request_error", "max_tokens: required", "bad_request"),
        (400, "invalid_request_error", "prompt is too long: 9 > 8", "context_length"),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 9 + 9 > 10",
            "context_length",
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the API.",
            "quota",
        ),
        (
            400,
            "invalid_request_error",
            "Output blocked by content filtering policy",
            "content_filtered",
        ),
        (401, "authentication_error", "invalid x-api-key", "unauthorized"),
        (402, "billing_error", "pay", "quota"),
        (403, "permission_error", "no", "unauthorized"),
        (404, "not_found_error", "model: x", "not_found"),
        (413, "request_too_large", "more than 32 MB", "bad_request"),
        (429, "rate_limit_error", "slow down", "rate_limited"),
        (500, "api_error", "oh", "server_error"),
        (504, "timeout_error", "oh", "server_error"),
        (529, "overloaded_error", "Overloaded", "server_error"),
    ],
)
def test_anthropics_errors_are_understood(
    status: int, kind: str, message: str, fault: str
):
    body = {"type": "error", "error": {"type": kind, "message": message}}
    assert refused(status, body).fault == fault


def google_error(code: int, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    said = {"code": code, "message": "no", "status": status, "details": [*details]}
    return {"error": said}


def quota_failure(name: str) -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": name}],
    }


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (google_error(400, "INVALID_ARGUMENT"), "bad_request"),
        (google_error(400, "FAILED_PRECONDITION"), "bad_request"),
        (
            google_error(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}),
            "unauthorized",
        ),
        (google_error(401, "UNAUTHENTICATED"), "unauthorized"),
        (google_error(403, "PERMISSION_DENIED"), "unauthorized"),
        (google_error(404, "NOT_FOUND"), "not_found"),
        (google_error(429, "RESOURCE_EXHAUSTED"), "rate_limited"),
        (
            google_error(429, "RESOURCE_EXHAUSTED", quota_failure("PerMinuteTokens")),
            "rate_limited",
        ),
        (
            google_error(429, "RESOURCE_EXHAUSTED", quota_failure("RequestsPerDayX")),
            "quota",
        ),
        (google_error(500, "INTERNAL"), "server_error"),
        (google_error(503, "UNAVAILABLE"), "server_error"),
        (google_error(504, "DEADLINE_EXCEEDED"), "server_error"),
        (google_error(400, "INVALID_ARGUMENT", {"violations": "odd"}), "bad_request"),
    ],
)
def test_googles_errors_are_understood(body: dict[str, Any], fault: str):
    assert refused(body["error"]["code"], body).fault == fault
    assert refused(body["error"]["code"], [body]).fault == fault


@pytest.mark.parametrize(
    ("delay", "headers", "seconds"),
    [
        ("34s", {}, 34.0),
        ("34.5s", {}, 34.5),
        ("34s", {"retry-after": "5"}, 5.0),
        ("soon", {}, None),
        (7, {}, 7.0),
    ],
)
def test_google_says_in_a_detail_how_long_to_wait(
    delay: Any, headers: dict[str, str], seconds: float | None
):
    details: tuple[dict[str, Any], ...] = (
        {},
        {"retryDelay": delay},
        {"retryDelay": "99s"} if delay == 7 else {},
    )
    body = google_error(429, "RESOURCE_EXHAUSTED", *details)
    assert refused(429, body, headers).retry_after_s == seconds


@pytest.mark.parametrize(
    "message", ["context_length must be an integer", "max_tokens is too long"]
)
def test_other_words_about_length_are_a_bad_request(message: str):
    assert refused(400, error(message)).fault == "bad_request"


@pytest.mark.parametrize(
    "body",
    [
        error("out of order"),
        {"error": "out of order"},
        {"message": "out of order", "code": 500},
        {"detail": "out of order"},
        [error("out of order")],
    ],
)
def test_message_is_found_in_every_shape(body: Any):
    assert refused(500, body).message == "'worker-a' answered 500: out of order"


@pytest.mark.parametrize(
    "body", [b"", b"<html>secret page</html>", b"17", b"[]", {"error": 5}, {}]
)
def test_body_without_a_message_is_not_quoted(body: Any):
    assert refused(502, body).message == "'worker-a' answered 502"


def test_status_is_kept():
    assert refused(418, error()).status == 418


@pytest.mark.parametrize(
    "said",
    [
        f"Incorrect key {KEY}",
        f"\u0007{KEY}\u0007",
        "x" * 190 + KEY,
        "header extra-canary is wrong",
    ],
)
def test_message_never_holds_a_secret(said: str):
    shown = repr(refused(401, error(said))) + refused(401, error(said)).message
    assert "canary" not in shown


@pytest.mark.parametrize("start", range(3950, 4001, 7))
def test_key_on_the_edge_of_what_is_kept_is_never_shown_in_part(start: int):
    """T1: only the beginning of a long error is kept, so a key may be cut there."""
    said = ("a" + " " * (start - 1)) + KEY + " " * 5000
    assert "sk-" not in refused(401, error(said)).message


@pytest.mark.parametrize(
    "said", ["exceed" * 10_000, "exceeds context " * 4_000, "input token count" * 3_500]
)
def test_error_that_is_hard_to_search_is_judged_by_its_beginning(said: str):
    """T1: nothing beyond the first 4,000 characters of an error is looked at."""
    started = time.thread_time()
    assert refused(400, error(said + " prompt is too long")).fault == "bad_request"
    assert time.thread_time() - started < 0.2


def test_message_has_no_control_characters():
    message = refused(400, error("a\x1b[31m\r\nb\u202ec")).message
    assert message.endswith(": a [31m b c")


def test_message_is_an_excerpt():
    assert len(refused(400, error("long " * 500)).message) < 240


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 -0000"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT"}, 0.0),
        ({"retry-after": "Tue, 99 Nov 2023 22:13:00 GMT"}, None),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_retry_after_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
):
    assert refused(429, error(), headers).retry_after_s == seconds


@given(st.text())
def test_retry_after_of_any_text_is_nothing_or_a_wait(text: str):
    seconds = retry_after({"retry-after": text}, now_s=NOW_S)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        ({"message": "overloaded"}, "server_error"),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, "rate_limited"),
        ({"message": "slow down", "code": 429}, "rate_limited"),
        ({"message": "pay", "type": "insufficient_quota"}, "quota"),
        ({"message": "pay", "code": 402}, "quota"),
        ({"message": "long", "code": "context_length_exceeded"}, "context_length"),
        ({"message": "maximum context length is 5"}, "context_length"),
        ({"code": 400}, "server_error"),
        ({"type": "overloaded_error", "message": "Overloaded"}, "server_error"),
        ({"type": "api_error", "message": "oh"}, "server_error"),
        ({"type": "rate_limit_error"}, "rate_limited"),
        ({"type": "authentication_error"}, "unauthorized"),
        ({"type": "permission_error"}, "unauthorized"),
        ({"type": "not_found_error"}, "not_found"),
        ({"type": "invalid_request_error", "message": "no"}, "bad_request"),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, LONG),
        ({"type": "billing_error"}, "quota"),
        ({"code": 503, "status": "UNAVAILABLE"}, "server_error"),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED"}, "rate_limited"),
        ({"code": 400, "status": "INVALID_ARGUMENT"}, "bad_request"),
        ({"code": 403, "status": "PERMISSION_DENIED"}, "unauthorized"),
        ({"code": 404, "status": "NOT_FOUND"}, "not_found"),
        ("a plain text", "server_error"),
        (["odd"], "server_error"),
    ],
)
def test_error_event_is_named_by_its_code(event: Any, fault: str):
    assert error_event(ENDPOINT, event).fault == fault


def test_error_event_says_how_long_to_wait():
    event = google_error(429, "RESOURCE_EXHAUSTED", {"retryDelay": "2s"})["error"]
    assert error_event(ENDPOINT, event).retry_after_s == 2.0


def test_error_event_never_shows_a_secret():
    assert "canary" not in str(error_event(ENDPOINT, {"message": f"bad {KEY}"}))
