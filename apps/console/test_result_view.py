"""Words for the last test of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.console.ability_words import ABILITY_WORDS
from apps.engine.errors import PlanFault
from apps.pools.models import Conductor, ConductorMode, Worker
from apps.pools.selectors import last_test
from apps.pools.types import TestResult, TrialStep

ADVICE = {
    "connect": "Check the address, and that the server is running and reachable. If "
    "its network is not allowed, ask the operator of this site: the setting "
    "MODEL_NETWORKS allows it.",
    "first_byte_timeout": "The server is busy or loading the model. Try again, or "
    "allow more time under “More”.",
    "idle_timeout": "The answer fell silent. Try again, or allow more time.",
    "total_timeout": "The whole answer took too long. Try again, or allow more time.",
    "rate_limited": "The provider wants fewer calls. Wait a moment and try again.",
    "server_error": "The provider has trouble of its own. Try again later.",
    "incomplete": "The answer broke off. Try again; if it repeats, ask the provider.",
    "bad_response": "This is not what a server of that protocol says. Check the "
    "protocol and the address: it ends with the version path, such as /v1.",
    "unauthorized": "The provider refused the key. Choose or paste another one.",
    "quota": "The provider's account is out of credit.",
    "not_found": "No such model or path there. Check the address and the model.",
    "bad_request": "The provider refused the request. Another name for the output "
    "limit, under “More”, often helps.",
    "content_filtered": "The provider refused the test for its content. Try again, or "
    "ask the provider.",
    "context_length": "The model's context is too small for a test of a few words.",
}
"""What to do, by the typed error of a test."""
PLAN_ADVICE = {
    ConductorMode.LISTS: "Few models write such lists unless they were trained to. "
    "Choose JSON schema under “How it writes plans”, or another model.",
    ConductorMode.JSON_SCHEMA: "Either the server does not support structured output, "
    "or the model cannot plan. Choose another model, or three lists under “How it "
    "writes plans”.",
}
"""What to do about an answer that is not a plan, by how plans are written."""


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A step of the plan that a test read."""

    worker: str
    subtask: str
    reads: str
    """Whose answers it would read, in words. Empty: none."""


@dataclass(frozen=True, slots=True)
class TestLine:
    """The last test of a model, and what to do about it."""

    __test__ = False

    result: TestResult
    advice: str
    """Empty: nothing, or nothing we know of."""
    shown: str
    """What it can do, as it showed. Empty: that was not tried."""
    unmarked: str
    """What of that is not marked, so no run counts on it."""
    missing: str
    """What is marked, but showed not to be so."""
    plan: tuple[PlanLine, ...] = ()
    """What a conductor planned. Empty: it is a worker, or there is no plan."""


def test_line(model: Worker | Conductor) -> TestLine | None:
    """Return the last test of a model for people; None: it was never tested."""
    result = last_test(model)
    if result is None:
        return None
    # In this order always: PostgreSQL has its own for what is stored as JSON.
    shown = {n: result.abilities[n] for n in ABILITY_WORDS if n in result.abilities}
    return TestLine(
        result=result,
        advice=_advice(model, result),
        shown=", ".join(_words(name, has=has) for name, has in shown.items()),
        unmarked=_list(n for n, has in shown.items() if has and not _is_set(model, n)),
        missing=_list(n for n, has in shown.items() if _is_set(model, n) and not has),
        plan=tuple(PlanLine(s.worker, s.subtask, _reads(s)) for s in result.plan),
    )


def _reads(step: TrialStep) -> str:
    numbers = ", ".join(str(index + 1) for index in step.access)
    return f"step{'' if len(step.access) == 1 else 's'} {numbers}" if numbers else ""


def _advice(model: Worker | Conductor, result: TestResult) -> str:
    code = result.error_code
    if code == PlanFault.TRUNCATED:
        return "Allow a longer plan under “More”, or choose another model."
    if isinstance(model, Conductor) and code in set(PlanFault):
        return PLAN_ADVICE[ConductorMode(model.mode)]
    return ADVICE.get(code, "")


def _is_set(model: Worker | Conductor, ability: str) -> bool:
    # A conductor is asked only for what it is set to need.
    return bool(getattr(model, ability)) if isinstance(model, Worker) else True


def _list(abilities: Iterable[str]) -> str:
    return ", ".join(_words(name, has=True) for name in abilities)


def _words(ability: str, *, has: bool) -> str:
    words = ABILITY_WORDS[ability]
    return words.has if has else words.lacks
