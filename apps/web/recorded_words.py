"""Words of the record in the language of a page: faults, and what steps are for.

The record keeps stable English words; what is not known here is shown as it is.
"""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.engine.errors import CallFault, PlanFault
from apps.planners.light.logged_runs import StepRole

FAULTS = {
    PlanFault.UNPARSEABLE: _("unparseable"),
    PlanFault.UNEQUAL_LENGTHS: _("unequal lengths"),
    PlanFault.EMPTY_PLAN: _("empty plan"),
    PlanFault.TOO_MANY_STEPS: _("too many steps"),
    PlanFault.UNKNOWN_WORKER: _("unknown worker"),
    PlanFault.EMPTY_SUBTASK: _("empty subtask"),
    PlanFault.BAD_ACCESS: _("bad access"),
    PlanFault.FORWARD_REFERENCE: _("forward reference"),
    PlanFault.TRUNCATED: _("truncated"),
    PlanFault.UNPRICED_WORKER: _("unpriced worker"),
    PlanFault.UNSUITED_WORKER: _("unsuited worker"),
    PlanFault.DELEGATION: _("delegation"),
    PlanFault.POLICY_DENIED: _("policy denied"),
    CallFault.CONNECT: _("connect"),
    CallFault.FIRST_BYTE_TIMEOUT: _("first byte timeout"),
    CallFault.FIRST_TOKEN_TIMEOUT: _("first token timeout"),
    CallFault.IDLE_TIMEOUT: _("idle timeout"),
    CallFault.TOTAL_TIMEOUT: _("total timeout"),
    CallFault.RATE_LIMITED: _("rate limited"),
    CallFault.SERVER_ERROR: _("server error"),
    CallFault.INCOMPLETE: _("incomplete"),
    CallFault.BAD_RESPONSE: _("bad response"),
    CallFault.UNUSABLE_RESPONSE: _("unusable response"),
    CallFault.UNAUTHORIZED: _("unauthorized"),
    CallFault.NOT_FOUND: _("not found"),
    CallFault.QUOTA: _("quota"),
    CallFault.BAD_REQUEST: _("bad request"),
    CallFault.PREFILL_REFUSED: _("prefill refused"),
    CallFault.CONTEXT_LENGTH: _("context length"),
    CallFault.CONTENT_FILTERED: _("content filtered"),
    CallFault.CIRCUIT_OPEN: _("circuit open"),
    CallFault.QUEUE_FULL: _("queue full"),
    CallFault.EMPTY: _("empty"),
    CallFault.INVALID_OUTPUT: _("invalid output"),
    CallFault.DIVERGED: _("diverged"),
    CallFault.CANCELLED: _("cancelled"),
    "interrupted": _("interrupted"),
    "repeated_subtask": _("repeated subtask"),
    "repeated_answer": _("repeated answer"),
    "unchanged_plan": _("unchanged plan"),
    "worker_failed": _("worker failed"),
    "stream_interrupted": _("stream interrupted"),
    "context_length_exceeded": _("context length exceeded"),
    "invalid_structured_output": _("invalid structured output"),
    "limit_calls": _("limit of calls"),
    "limit_tokens": _("limit of tokens"),
    "limit_cost": _("limit of cost"),
    "limit_wall_time": _("limit of time"),
    "approval_refused": _("approval refused"),
    "approval_expired": _("approval expired"),
}
ROLES = {
    StepRole.PLAN: _("plan"),
    StepRole.SOLVE: _("solve"),
    StepRole.CHECK: _("check"),
    StepRole.COMBINE: _("combine"),
}
_FAULT_WORDS = {str(fault): word for fault, word in FAULTS.items()}
_ROLE_WORDS = {str(role): word for role, word in ROLES.items()}


def fault_word(fault: str) -> str:
    """Return the stable word of a fault as people read it."""
    return _said(_FAULT_WORDS.get(fault, fault.replace("_", " ")))


def role_word(role: str) -> str:
    """Return what a step of a plan is for; empty if nothing says it."""
    return _said(_ROLE_WORDS.get(role, role))


def _said(word: str) -> str:
    return gettext(word) if word else ""
