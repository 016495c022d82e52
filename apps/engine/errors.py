"""Everything that can go wrong inside a run, split by who must act.

EngineError
├── PlanRejected      the conductor model must answer again: its plan breaks a rule
├── CallFailed        a model endpoint must recover, or another one take over
├── LimitReached      the caller (or the pool's admin) must allow more
├── RunDenied         the caller must ask for something a policy allows
└── HistoryMismatch   the operator must look: a recorded history contradicts itself
"""

from __future__ import annotations

from enum import StrEnum


class EngineError(Exception):
    """Base of all errors the engine raises on purpose."""


class PlanFault(StrEnum):
    """Why a plan was rejected."""

    UNPARSEABLE = "unparseable"
    """No plan could be read from the conductor's text."""
    UNEQUAL_LENGTHS = "unequal_lengths"
    """The lists differ in length."""
    EMPTY_PLAN = "empty_plan"
    """Three empty lists where an answer does not exist yet."""
    TOO_MANY_STEPS = "too_many_steps"
    """More steps than the limits allow."""
    UNKNOWN_WORKER = "unknown_worker"
    """A worker outside the pool."""
    EMPTY_SUBTASK = "empty_subtask"
    """A step without words."""
    BAD_ACCESS = "bad_access"
    """An access entry that is neither empty, "all" nor indices of earlier steps."""
    FORWARD_REFERENCE = "forward_reference"
    """A step reads itself or a later step."""
    TRUNCATED = "truncated"
    """The conductor ran out of tokens before its plan ended."""
    UNPRICED_WORKER = "unpriced_worker"
    """A cost limit is set and the worker's price is unknown."""
    UNSUITED_WORKER = "unsuited_worker"
    """The worker takes no images, or no tools, and the step needs them."""
    DELEGATION = "delegation"
    """The last step plans the rest, which the limits do not allow, or no longer."""
    POLICY_DENIED = "policy_denied"
    """A policy refuses the plan, or every worker that could do the step."""


class PlanRejected(EngineError):
    """The conductor's plan breaks a rule; it may be asked again with the reason."""

    def __init__(self, fault: PlanFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message


class CallFault(StrEnum):
    """Why a call to a model failed; the same word in ledger, API and pages."""

    CONNECT = "connect"
    """No connection (refused, DNS, TLS) within the limit."""
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    """Connected, but nothing came."""
    FIRST_TOKEN_TIMEOUT = "first_token_timeout"  # nosec B105
    """No content, reasoning or tool call came in time, whatever else came."""
    IDLE_TIMEOUT = "idle_timeout"
    """The stream fell silent."""
    TOTAL_TIMEOUT = "total_timeout"
    """The whole call took too long."""
    RATE_LIMITED = "rate_limited"
    """429; `retry_after_s` may say when to come back."""
    SERVER_ERROR = "server_error"
    """5xx, or an error event inside a 200 stream."""
    INCOMPLETE = "incomplete"
    """The stream ended without its end marker."""
    BAD_RESPONSE = "bad_response"
    """Not what the protocol promises: bad JSON, a redirect."""
    UNUSABLE_RESPONSE = "unusable_response"
    """An answer that another call would bring again: compressed, too long, a page of
    HTML, no event stream where one was asked for."""
    UNAUTHORIZED = "unauthorized"
    """401 or 403: the credential is wrong."""
    NOT_FOUND = "not_found"
    """404: the model or path does not exist there."""
    QUOTA = "quota"
    """The provider's account is out of credit."""
    BAD_REQUEST = "bad_request"
    """The provider refuses the request itself."""
    PREFILL_REFUSED = "prefill_refused"
    """The provider refuses a conversation that ends in the beginning of an answer."""
    CONTEXT_LENGTH = "context_length"
    """The request is longer than the model's context."""
    CONTENT_FILTERED = "content_filtered"
    """The provider or its model refuses the content: a safety filter, a policy."""
    CIRCUIT_OPEN = "circuit_open"
    """Not asked at all: it failed several times in a row and rests for a while."""
    QUEUE_FULL = "queue_full"
    """The conductor was not asked at all: too many requests wait at its server."""
    EMPTY = "empty"
    """A complete answer without any text or tool call."""
    INVALID_OUTPUT = "invalid_output"
    """A complete answer that is not what `response_format` asks for."""
    DIVERGED = "diverged"
    """A new answer that does not begin with what the caller has been sent."""
    CANCELLED = "cancelled"
    """We closed the call ourselves: the run was stopped or reached a limit."""


TRANSIENT_FAULTS = frozenset(
    {
        CallFault.CONNECT,
        CallFault.RATE_LIMITED,
        CallFault.SERVER_ERROR,
        CallFault.INCOMPLETE,
        CallFault.BAD_RESPONSE,
        CallFault.EMPTY,
    }
)
"""Faults for which the same endpoint may be asked again. A timeout is none of them: a
second one would double the caller's wait."""
LASTING_FAULTS: frozenset[str] = frozenset(
    {
        CallFault.UNUSABLE_RESPONSE,
        CallFault.UNAUTHORIZED,
        CallFault.NOT_FOUND,
        CallFault.QUOTA,
        CallFault.BAD_REQUEST,
        CallFault.PREFILL_REFUSED,
        CallFault.CONTEXT_LENGTH,
        CallFault.CONTENT_FILTERED,
        CallFault.INVALID_OUTPUT,
        PlanFault.UNSUITED_WORKER,
        PlanFault.POLICY_DENIED,
    }
)
"""Faults of a step that the same request would meet again, however long it waits."""


class CallFailed(EngineError):
    """One call to a model did not end in a complete answer."""

    def __init__(
        self,
        fault: CallFault,
        message: str,
        *,
        retry_after_s: float | None = None,
        rests_s: float = 0.0,
        said: str = "",
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.retry_after_s = retry_after_s
        """Seconds that the provider asks to wait. None: it names no time."""
        self.rests_s = rests_s
        """For how many seconds the endpoint is not called at all: its circuit is open.
        0: it is called."""

        self.said = said
        """The provider's own words for it; empty: it has none."""

    @property
    def wait_s(self) -> float | None:
        """Return in how many seconds a call may succeed; None: that is not known."""
        if self.rests_s:
            return max(self.rests_s, self.retry_after_s or 0.0)
        return self.retry_after_s

    @property
    def is_transient(self) -> bool:
        """Say whether the same endpoint may be asked again."""
        return self.fault in TRANSIENT_FAULTS


class LimitKind(StrEnum):
    """Which limit of a run was reached."""

    CALLS = "calls"
    TOKENS = "tokens"
    COST = "cost"
    WALL_TIME = "wall_time"


class LimitReached(EngineError):
    """The next call would cross a limit of the run."""

    def __init__(self, kind: LimitKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class RunDenied(EngineError):
    """A policy refuses the run, or nobody approved its plan."""

    def __init__(self, reason: str, code: str = "policy_denied") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        """What the run ends as."""


class HistoryMismatch(EngineError):
    """The recorded events of a run contradict each other."""
