"""Errors of calls to models, split by who must act.

LlmError
├── the provider must recover, or another one take over
│   ├── ConnectFailed       no connection
│   ├── FirstByteTimeout    connected, but nothing came
│   ├── IdleTimeout         the answer fell silent
│   ├── TotalTimeout        the whole call took too long
│   ├── RateLimited         asked too often
│   ├── ServerFailed        the provider says it failed
│   ├── Incomplete          the answer ended without its end marker
│   └── BadResponse         not what the protocol promises
│       └── Redirected      it points elsewhere, where we do not go
├── another one must take over: this one would answer the same way again
│   └── UnusableResponse    compressed, too long, or no event stream
├── the owner of the credential must act
│   ├── Unauthorized        the credential is wrong
│   └── QuotaExceeded       the account is out of credit
├── whoever configured the endpoint must act
│   └── NotFound            no such model or path there
└── the caller must ask differently
    ├── BadRequest          the provider refuses the request
    ├── ContextTooLong      longer than the model's context
    └── ContentFiltered     a filter or a policy refuses the content

`fault` is the word that ledger, API and pages use. Messages hold no secret and at most
a short, cleaned excerpt of what the provider said.
"""

from __future__ import annotations

from typing import ClassVar


class LlmError(Exception):
    """Base of all errors of a call."""

    fault: ClassVar[str]
    """Stable word for programs."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        said: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """HTTP status, if the provider answered with an error."""
        self.retry_after_s = retry_after_s
        """Seconds the provider asks to wait, if it does."""
        self.said = said
        """The provider's own words, cleaned; empty: it has none."""


class ConnectFailed(LlmError):
    """No connection (refused, DNS, TLS, forbidden address) within the limit."""

    fault = "connect"


class FirstByteTimeout(LlmError):
    """Connected, but nothing came."""

    fault = "first_byte_timeout"


class IdleTimeout(LlmError):
    """The answer began and fell silent."""

    fault = "idle_timeout"


class TotalTimeout(LlmError):
    """The whole call took too long."""

    fault = "total_timeout"


class RateLimited(LlmError):
    """The provider wants fewer calls."""

    fault = "rate_limited"


class ServerFailed(LlmError):
    """The provider says that it failed, by status or inside the stream."""

    fault = "server_error"


class Incomplete(LlmError):
    """The answer ended without its end marker."""

    fault = "incomplete"


class BadResponse(LlmError):
    """Not what the protocol promises: bad JSON, a redirect."""

    fault = "bad_response"


class Redirected(BadResponse):
    """The provider redirects to an address that has not been checked."""


class UnusableResponse(LlmError):
    """An answer that is not read, and that another call would bring again."""

    fault = "unusable_response"


class Unauthorized(LlmError):
    """The credential is wrong or may not do this."""

    fault = "unauthorized"


class QuotaExceeded(LlmError):
    """The provider's account is out of credit."""

    fault = "quota"


class NotFound(LlmError):
    """The model or path does not exist there."""

    fault = "not_found"


class BadRequest(LlmError):
    """The provider refuses the request itself."""

    fault = "bad_request"


class ContextTooLong(LlmError):
    """The request is longer than the model's context."""

    fault = "context_length"


class ContentFiltered(LlmError):
    """A filter or a policy of the provider refuses the content."""

    fault = "content_filtered"
