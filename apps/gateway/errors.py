"""Translates the product's errors into the OpenAI error shape.

Every failure becomes a `ApiFailure`: status, code, message, `param`, and what a client
should do next. How a run that did not complete is answered:

| run.failed code | status | code | clients retry |
|---|---|---|---|
| limit_cost | 402 | insufficient_quota | no |
| insufficient_quota | 429 | the same word | no |
| limit_wall_time | 504 | timeout | no: it would cost again |
| any other limit_* | 400 | the same word | no |
| policy_denied | 403 | policy_denied | no |
| approval_refused, approval_expired | 403 | as the run's | no |
| context_length_exceeded, content_filtered | 400 | the same word | no |
| invalid_structured_output, secret_unreadable | 502 | the same word | no |
| worker_failed, every fault of the failed step lasting | 502 | the same word | no |
| worker_failed, the wait is known | 502 | the same word | yes, with `Retry-After` |
| worker_failed and any other code | 502 | the same word | yes, as they like |
| run.cancelled by a person or a stop | 403 | run_cancelled | no: a human said stop |
| run.cancelled, reason shutdown | 503 | overloaded | yes, with `Retry-After` |
| run.cancelled, reason client_closed | 499 | client_closed | the client has gone |

The wait of `worker_failed` is that of a circuit which is open, or what a provider asks
for. Where clients should not retry, `x-should-retry: false` says so, whatever the
status. 409 is never sent, because clients retry it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apps.accounts.errors import TooManyGuesses
from apps.core.errors import ConductorError, InvalidInput, SecretUnreadable
from apps.engine.events import RunCancelled, RunFailed

RETRY_AFTER_S = 2
"""Sent with 429 and 503 when the error names no time of its own."""
CLIENT_CLOSED = "client_closed"
CLIENT_STALLED = "client_stalled"
SHUTDOWN = "shutdown"
QUOTA = "insufficient_quota"
"""Both `error.code` and `error.type` of what no money is left for."""
FINAL_CODES = frozenset(
    {"invalid_structured_output", SecretUnreadable.code, TooManyGuesses.code}
)
"""What the same request would meet again, whatever the status says."""
OF_THE_POLICY = frozenset({"policy_denied", "approval_refused", "approval_expired"})
"""Of failed runs: what a rule or a person of the team forbids."""
OF_THE_MESSAGES = frozenset({"context_length_exceeded", "content_filtered"})
"""Of failed runs: what only other messages could avoid."""
RETRIED_STATUSES = frozenset({408, 429})
"""Client errors that pass by themselves."""
SOON_S = 60
"""A client that retries by itself waits no longer than this."""
TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
"""`error.type` by status; otherwise by class of status."""


class BodyTooSlow(InvalidInput):
    """The request body stopped coming."""

    code = "request_timeout"
    http_status = 408


class UnsupportedBody(InvalidInput):
    """The request body is declared to be a form, or to be compressed."""

    http_status = 415


class NoSuchEndpoint(InvalidInput):
    """The path is none of ours."""

    code = "not_found"
    http_status = 404


class MethodNotAllowed(InvalidInput):
    """The path is ours, the method is not."""

    code = "method_not_allowed"
    http_status = 405

    def __init__(self, message: str, *, allowed: str) -> None:
        super().__init__(message)
        self.allowed = allowed
        """Value of the `Allow` header."""


class ClientGone(Exception):
    """The client closed the connection before the answer."""


@dataclass(frozen=True, slots=True)
class ApiFailure:
    """An error as an OpenAI client will see it."""

    status: int
    code: str
    message: str
    param: str | None = None
    retry_after_s: int | None = None
    is_final: bool = False
    """True: tell clients that retry by status that they should not."""
    allowed: str = ""
    """The `Allow` header of a 405."""

    def body(self) -> dict[str, Any]:
        """Return the JSON body, which is also the error line of a stream."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": self.message,
                "type": (
                    self.code if self.code == QUOTA else TYPES.get(self.status, kind)
                ),
                "param": self.param,
                "code": self.code,
            }
        }

    @property
    def _is_of_the_request(self) -> bool:
        """Say whether the request itself is at fault, and so at fault again."""
        return 400 <= self.status < 500 and self.status not in RETRIED_STATUSES

    @property
    def _wait_s(self) -> int | None:
        """Return after how many seconds to ask again; None: clients are not told."""
        if self.retry_after_s is None:
            is_brief = self.status in (429, 503) and not self.is_final
            return RETRY_AFTER_S if is_brief else None
        return None if self.is_final and not self.retry_after_s else self.retry_after_s

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that belong to this failure alone."""
        headers: list[tuple[bytes, bytes]] = []
        if self.status == 401:
            headers.append((b"www-authenticate", b'Bearer realm="conductor"'))
        if (wait_s := self._wait_s) is not None:
            headers.append((b"retry-after", b"%d" % wait_s))
        if self.is_final or self._is_of_the_request:
            headers.append((b"x-should-retry", b"false"))
        if self.allowed:
            headers.append((b"allow", self.allowed.encode("ascii")))
        return headers


INTERNAL_FAILURE = ApiFailure(
    500, "internal_error", "the server failed; the request id leads to the reason"
)


def failure_of_error(error: ConductorError) -> ApiFailure:
    """Translate an error that was raised on purpose."""
    is_unknown_model = error.http_status == 404 and error.param == "model"
    return ApiFailure(
        status=400 if error.http_status == 409 else error.http_status,
        code="model_not_found" if is_unknown_model else error.code,
        message=error.message,
        param=error.param,
        retry_after_s=error.retry_after_s,
        is_final=_is_final(error),
        allowed=error.allowed if isinstance(error, MethodNotAllowed) else "",
    )


def _is_final(error: ConductorError) -> bool:
    if error.code == QUOTA:
        return error.retry_after_s is None or error.retry_after_s > SOON_S
    return error.code in FINAL_CODES


def failure_of_run(
    end: RunFailed | RunCancelled, *, question: str = "messages"
) -> ApiFailure:
    """Translate the end of a run without an answer.

    `question`: the field of the request that holds the conversation.
    """
    if isinstance(end, RunCancelled):
        return _failure_of_cancel(end.reason)
    if end.code == "limit_cost":
        return ApiFailure(402, QUOTA, end.message)
    if end.code == QUOTA:
        return ApiFailure(429, QUOTA, end.message, is_final=True)
    if end.code == "limit_wall_time":
        return ApiFailure(504, "timeout", end.message, is_final=True)
    if end.code.startswith("limit_"):
        return ApiFailure(400, end.code, end.message)
    if end.code in OF_THE_POLICY:
        return ApiFailure(403, end.code, end.message)
    if end.code in OF_THE_MESSAGES:
        return ApiFailure(400, end.code, end.message, param=question)
    return ApiFailure(
        502,
        end.code,
        end.message,
        retry_after_s=end.retry_after_s,
        is_final=end.is_lasting or end.code in FINAL_CODES,
    )


def _failure_of_cancel(reason: str) -> ApiFailure:
    if reason == CLIENT_CLOSED:
        return ApiFailure(499, CLIENT_CLOSED, "the client closed the connection")
    if reason == SHUTDOWN:
        return ApiFailure(503, "overloaded", "the server is restarting")
    return ApiFailure(
        403, "run_cancelled", f"the run was cancelled: {reason}", is_final=True
    )
