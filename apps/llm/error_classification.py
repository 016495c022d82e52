"""Reads what a provider says went wrong and names it.

Guarantees that a message holds no secret of the endpoint, no control characters and at
most a short excerpt of what the provider said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from apps.llm.bounds import MAX_COMPLAINT_CHARACTERS, Unreadable, load_json
from apps.llm.errors import (
    BadRequest,
    BadResponse,
    ContentFiltered,
    ContextTooLong,
    LlmError,
    NotFound,
    QuotaExceeded,
    RateLimited,
    Redirected,
    ServerFailed,
    Unauthorized,
)
from apps.llm.types import Endpoint

EXCERPT_CHARACTERS = 200
"""Enough to understand a provider's message, too little to leak a prompt."""
REASON_CHARACTERS = 2_000
"""Characters of the reason for a refusal, which goes back to the caller."""
MAX_WORD_CHARACTERS = 200
"""Of a code, a type or the name of a quota."""
MAX_DETAILS = 50
"""Of one error, and in each of them."""
REDACTED = "[redacted]"

QUOTA_WORDS = frozenset(
    {
        "insufficient_quota",
        "insufficient_balance",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
    }
)
QUOTA_SENTENCE = re.compile(r"credit balance is too low", re.IGNORECASE)
"""How Anthropic says it, as an invalid request."""
DAILY_QUOTA = "perday"
"""In the name of a quota of Google's that no wait of this run will fill again."""
RATE_WORDS = frozenset(
    {
        "rate_limit_exceeded",
        "rate_limit_error",
        "rate_limited",
        "resource_exhausted",
        "429",
    }
)
CONTEXT_WORDS = frozenset({"context_length_exceeded", "exceed_context_size_error"})
CONTEXT_SENTENCE = re.compile(
    r"maximum context length"
    r"|exceed\w{0,9} .{0,40}context (length|window|size|limit)"
    r"|context (length|window|size) .{0,40}exceed"
    r"|(prompt|input) is too long"
    r"|input token count .{0,40}exceed",
    re.IGNORECASE,
)
"""How vLLM, llama.cpp, OpenAI, Anthropic and Gemini say it when the code does not.
No part of it repeats without a small bound, so searching takes linear time."""
FILTER_WORDS = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "responsibleaipolicyviolation",
    }
)
FILTER_SENTENCE = re.compile(
    r"content filtering policy|flagged as potentially violating|your input was flagged",
    re.IGNORECASE,
)
"""How Anthropic, OpenAI and OpenRouter say it, as an invalid or forbidden request."""
FILTER_STATUSES = frozenset({400, 403, 422, 451})
KEY_WORDS = frozenset(
    {
        "api_key_invalid",
        "authentication_error",
        "invalid_api_key",
        "permission_denied",
        "permission_error",
        "unauthenticated",
    }
)
"""Google refuses a wrong key as an invalid argument; only a detail tells."""
BY_WORD_IN_STREAM: Mapping[str, type[LlmError]] = {
    "invalid_request_error": BadRequest,
    "invalid_argument": BadRequest,
    "failed_precondition": BadRequest,
    "not_found_error": NotFound,
    "not_found": NotFound,
}
"""What decides, beside the words above, where there is no status any more."""

BY_STATUS: Mapping[int, type[LlmError]] = {
    401: Unauthorized,
    402: QuotaExceeded,
    403: Unauthorized,
    404: NotFound,
    408: ServerFailed,
    409: ServerFailed,
    429: RateLimited,
}
TOO_LONG_STATUSES = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class _Complaint:
    """What the provider said, whatever shape it used."""

    message: str = ""
    words: frozenset[str] = frozenset()
    """Its `code`, `type` and `status`, and the reasons in its details."""
    retry_after_s: float | None = None

    @property
    def is_out_of_credit(self) -> bool:
        """Say whether only its owner can make the account work again."""
        if self.words & QUOTA_WORDS or DAILY_QUOTA in self.words:
            return True
        return QUOTA_SENTENCE.search(self._beginning) is not None

    @property
    def is_filtered(self) -> bool:
        """Say whether the content is what is refused."""
        if self.words & FILTER_WORDS:
            return True
        return FILTER_SENTENCE.search(self._beginning) is not None

    @property
    def is_too_long(self) -> bool:
        """Say whether the request is longer than the model's context."""
        if self.words & CONTEXT_WORDS:
            return True
        return CONTEXT_SENTENCE.search(self._beginning) is not None

    @property
    def _beginning(self) -> str:
        return self.message[:MAX_COMPLAINT_CHARACTERS]


def refusal(
    endpoint: Endpoint,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_s: float,
) -> LlmError:
    """Return the error for an answer that is not 200. `now_s`: seconds since 1970."""
    if 300 <= status < 400:
        return _redirect(endpoint, status, headers)
    complaint = _read_complaint(body)
    said = reason_given(complaint.message, endpoint)
    words = f": {said[:EXCERPT_CHARACTERS]}" if said else ""
    wait_s = retry_after(headers, now_s=now_s)
    return _class_of(status, complaint)(
        f"{endpoint.name!r} answered {status}{words}",
        status=status,
        retry_after_s=complaint.retry_after_s if wait_s is None else wait_s,
        said=said,
    )


def _redirect(
    endpoint: Endpoint, status: int, headers: Mapping[str, str]
) -> Redirected:
    place = excerpt(headers.get("location", ""), endpoint)
    where = f" to {place}" if place else ""
    return Redirected(
        f"{endpoint.name!r} answered {status}, a redirect{where}; none is followed",
        status=status,
    )


def error_event(endpoint: Endpoint, error: Any) -> LlmError:
    """Return the error for an `error` object that came inside a 200 answer."""
    complaint = _complaint(error)
    said = reason_given(complaint.message, endpoint)
    words = said[:EXCERPT_CHARACTERS] or "no reason given"
    return _class_in_stream(complaint)(
        f"{endpoint.name!r} failed during its answer: {words}",
        retry_after_s=complaint.retry_after_s,
        said=said,
    )


def _class_in_stream(complaint: _Complaint) -> type[LlmError]:
    words = complaint.words
    if complaint.is_out_of_credit or "402" in words:
        return QuotaExceeded
    if words & RATE_WORDS:
        return RateLimited
    if complaint.is_too_long:
        return ContextTooLong
    if complaint.is_filtered:
        return ContentFiltered
    if words & KEY_WORDS:
        return Unauthorized
    kinds = [kind for word, kind in BY_WORD_IN_STREAM.items() if word in words]
    return kinds[0] if kinds else ServerFailed


def retry_after(headers: Mapping[str, str], *, now_s: float) -> float | None:
    """Return how many seconds the provider asks to wait; None if it does not say.

    Understands `retry-after-ms`, seconds and an HTTP date; anything else is ignored.
    Source: RFC 9110, section 10.2.3.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _seconds(value)
    return _seconds_until(value, now_s) if seconds is None else seconds


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds_until(text: str, now_s: float) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # "-0000": UTC of unknown origin
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now_s)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _class_of(status: int, complaint: _Complaint) -> type[LlmError]:
    if 400 <= status < 500 and complaint.is_out_of_credit:
        return QuotaExceeded
    if status in TOO_LONG_STATUSES and complaint.is_too_long:
        return ContextTooLong
    if status in FILTER_STATUSES and complaint.is_filtered:
        return ContentFiltered
    if status == 400 and complaint.words & KEY_WORDS:
        return Unauthorized
    if status in BY_STATUS:
        return BY_STATUS[status]
    if 400 <= status < 500:
        return BadRequest
    return ServerFailed if status >= 500 else BadResponse


def _read_complaint(body: bytes) -> _Complaint:
    try:
        value = load_json(body)
    except Unreadable:
        return _Complaint()  # HTML or the like: nothing worth quoting
    if isinstance(value, list) and value:  # Gemini wraps its error in a list
        value = value[0]
    if isinstance(value, dict) and value.get("error"):
        value = value["error"]
    return _complaint(value)


def _complaint(error: Any) -> _Complaint:
    if isinstance(error, str):
        return _Complaint(error)
    if not isinstance(error, dict):
        return _Complaint()
    message = error.get("message") or error.get("detail")
    words = {_word(error, key) for key in ("code", "type", "status")}
    wait_s = None
    for detail in _objects(error.get("details")):
        words |= _detail_words(detail)
        if wait_s is None:
            wait_s = _seconds(_word(detail, "retryDelay").removesuffix("s"))
    text = message if isinstance(message, str) else ""
    return _Complaint(text, frozenset(words), wait_s)


def _detail_words(detail: dict[str, Any]) -> set[str]:
    """Return the words of one of Google's details: a reason, or names of quotas."""
    words = {_word(detail, "reason")}
    for violation in _objects(detail.get("violations")):
        if DAILY_QUOTA in _word(violation, "quotaId"):
            words.add(DAILY_QUOTA)
    return words


def _word(value: dict[str, Any], key: str) -> str:
    """Return a word in lower case; empty if there is none or it is too long for one."""
    word = value.get(key)
    text = str(word) if isinstance(word, str | int | float) else ""
    return text.lower() if len(text) <= MAX_WORD_CHARACTERS else ""


def _objects(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [item for item in value[:MAX_DETAILS] if isinstance(item, dict)]


def excerpt(text: str, endpoint: Endpoint) -> str:
    """Return the beginning of what a provider said, without secrets."""
    return _without_secrets(text, endpoint)[:EXCERPT_CHARACTERS]


def reason_given(text: str, endpoint: Endpoint) -> str:
    """Return why a provider refused, in its words, without secrets."""
    return _without_secrets(text, endpoint)[:REASON_CHARACTERS]


def _without_secrets(text: str, endpoint: Endpoint) -> str:
    # Clean before redacting (a key must not hide behind a control character), redact
    # before cutting (half a key is still a secret).
    secrets = _longest_first(endpoint.secrets)
    clean = _printable(text[:MAX_COMPLAINT_CHARACTERS])
    if secrets and len(text) > MAX_COMPLAINT_CHARACTERS:  # the end may be half a key
        clean = clean[: -len(secrets[0])]
    for secret in secrets:
        clean = clean.replace(_printable(secret), REDACTED)
    return clean


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _longest_first(secrets: Sequence[str]) -> list[str]:
    return sorted((s for s in secrets if s.strip()), key=len, reverse=True)
