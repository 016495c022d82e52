"""The parts of a run's read model: rounds, their steps, and calls to models.

`run_view.py` folds the events of a run into them. Pure: no ORM, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b

import orjson

from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.engine.events import CallOutcome
from apps.engine.text import strip_thinking, thinking_in
from apps.engine.usage import Cost, Usage
from apps.runs.types import StepSummary

RIVAL, REPAIR, CONTINUATION = "rival", "repair", "continuation"
"""Why a step has another call, beside a plain retry: it runs beside a late one, asks
for the right form, or goes on from what the caller has been sent."""
FALLBACK = "fallback"
"""The planner of a plan that the pool's fallback worker answers alone."""
UNUSED, FREE = Usage(), Cost()


@dataclass(slots=True)
class CallView:
    """One call to a model: an attempt of a step, or a question to the conductor."""

    number: int
    worker: str
    """Empty for the conductor."""
    started_at: datetime
    seq: int
    """Sequence number of the entry that announces it."""
    messages: str = ""
    """JSON text: exactly what was sent."""
    before: CallView | None = None
    """The call of its step that began before it."""
    is_rival: bool = False
    """True if another call of its step was in flight when it began."""
    state: str = "running"
    """running, completed, failed, stopped, or unknown after a crash."""
    usage: Usage = UNUSED
    cost: Cost = FREE
    latency_ms: int | None = None
    """None until its end is on record."""
    first_token_ms: int | None = None
    output: str = ""
    answer_digest: bytes = b""
    """`text_digest` of a worker's answer, also where the answer is not kept."""
    reasoning: str = ""
    """Hidden thinking the provider showed apart from the output."""
    tool_calls: str = ""
    """The tool calls of the answer, as a JSON array; empty: none."""
    finish_reason: str = ""
    model: str = ""
    """The model the provider says it used."""
    fault: str = ""
    message: str = ""

    @property
    def reason(self) -> str:
        """Return rival, repair or continuation; empty for first calls and retries."""
        if self.before is None:
            return ""
        if self.is_rival:
            return RIVAL
        is_same = self.before.worker == self.worker
        if is_same and self.before.fault == CallFault.INVALID_OUTPUT:
            return REPAIR
        messages = orjson.loads(self.messages or "[]")
        return CONTINUATION if messages and messages[-1]["role"] == "assistant" else ""

    def complete(self, event: CallOutcome, cost: Cost) -> None:
        """Note what a complete answer used."""
        self.state = "completed"
        self.usage, self.cost, self.latency_ms = event.usage, cost, event.latency_ms

    def fail(self, event: CallOutcome, cost: Cost, fault: str, message: str) -> None:
        """Note why there is no answer. To be closed by the engine is no failure."""
        self.state = "stopped" if fault == CallFault.CANCELLED else "failed"
        self.usage, self.cost, self.latency_ms = event.usage, cost, event.latency_ms
        self.fault, self.message = fault, message

    def lose(self, state: str) -> None:
        """Note that no end is on record: it was sent, and its cost stays unknown."""
        self.state, self.cost = state, Cost(0, has_unknown=True)


@dataclass(slots=True)
class StepView:
    """One step of a plan and what became of it."""

    round: int
    index: int
    planned_worker: str
    subtask: str
    access: tuple[int, ...]
    is_final: bool
    """True for the last step, whose text is the answer, unless it plans the rest."""
    touched: int
    """Sequence number of the last entry that changed the step."""
    worker: str
    """The worker that answered, else the one called last, else the planned one."""
    state: str = "waiting"
    """waiting, running, completed, failed, skipped or cancelled."""
    calls: list[CallView] = field(default_factory=list)
    answered_by: CallView | None = None
    """The call whose response stands; others may have been made after it."""
    usage: Usage = UNUSED
    """Of the attempts whose end is on record, like the two sums below."""
    cost: Cost = FREE
    latency_ms: int = 0
    """Waits between the attempts left out."""
    fault: str = ""
    message: str = ""
    reused_from: str = ""
    """Id of the earlier run that its answer is from. Empty: it was answered here."""
    is_edited: bool = False
    """True: a person wrote the reused answer."""
    plans_rest: bool = False
    """True: its worker plans the rest of the plan, as the next round."""

    @property
    def place(self) -> tuple[int, int]:
        """Return the step's round and index."""
        return self.round, self.index

    @property
    def key(self) -> str:
        """Return the step's name in pages and live text, for example `0-2`."""
        return f"{self.round}-{self.index}"

    @property
    def number(self) -> int:
        """Return the step's number, counted from 1."""
        return self.index + 1

    @property
    def reads(self) -> tuple[int, ...]:
        """Return the numbers of the steps it may read, counted from 1."""
        return tuple(index + 1 for index in self.access)

    @property
    def is_over(self) -> bool:
        """Say whether the step has ended, other than with its run."""
        return self.state in {"completed", "failed", "skipped"}

    @property
    def shown_state(self) -> str:
        """Return its state, but `retrying` while none of its calls is in flight."""
        is_waiting = self.state == "running" and not self.running_calls
        return "retrying" if is_waiting else self.state

    @property
    def version(self) -> str:
        """Return a word that changes whenever what is shown of the step does."""
        return f"{self.touched}-{self.shown_state}"

    @property
    def live_attempt(self) -> int:
        """Return the number of the first attempt in flight; only one of them speaks."""
        return self.running_calls[0].number if self.running_calls else 0

    @property
    def has_new_message(self) -> bool:
        """Say whether no attempt that is shown has the step's message already."""
        return self.message not in {call.message for call in self.failed_calls}

    @property
    def attempts(self) -> int:
        """Return how many calls were made."""
        return self.calls[-1].number if self.calls else 0

    @property
    def last_call(self) -> CallView | None:
        """Return the attempt that answered, else the latest."""
        return self.answered_by or (self.calls[-1] if self.calls else None)

    @property
    def running_calls(self) -> list[CallView]:
        """Return the attempts in flight; two of them are rivals."""
        return [call for call in self.calls if call.state == "running"]

    @property
    def failed_calls(self) -> list[CallView]:
        """Return the attempts that ended without an answer."""
        return [call for call in self.calls if call.state in {"failed", "unknown"}]

    @property
    def beaten_calls(self) -> list[CallView]:
        """Return the attempts that were closed because another one was quicker."""
        if self.state != "completed":
            return []
        return [call for call in self.calls if call.state == "stopped"]

    @property
    def was_replaced(self) -> bool:
        """Say whether another worker than the planned one took over."""
        return self.worker != self.planned_worker

    @property
    def text(self) -> str:
        """Return the visible response; empty if there is none."""
        answer = self.answered_by
        return strip_thinking(answer.output).strip() if answer else ""

    @property
    def reasoning(self) -> str:
        """Return the thinking that led to the response, `<think>` blocks included."""
        if self.answered_by is None:
            return ""
        answer = self.answered_by
        return "\n\n".join(filter(None, (answer.reasoning, thinking_in(answer.output))))

    @property
    def tool_calls(self) -> str:
        """Return the tool calls of the response, as a JSON array; empty: none."""
        return self.answered_by.tool_calls if self.answered_by else ""

    @property
    def full_cost(self) -> Cost:
        """Return the cost of all attempts; unknown if the end of one is not known."""
        return total_cost(self.calls)

    def settle(
        self, event: ev.StepCompleted | ev.StepAttemptFailed, cost: Cost
    ) -> CallView:
        """Add what an attempt used; return it. Raises: KeyError if it never began."""
        is_first = self.usage is UNUSED  # mostly the only one, so there is no sum
        self.usage = event.usage if is_first else self.usage + event.usage
        self.cost = cost if is_first else self.cost + cost
        self.latency_ms += event.latency_ms
        return call_of(self.calls, event.attempt)

    def summary(self) -> StepSummary:
        """Return the step as callers see it after the run."""
        return StepSummary(
            self.round,
            self.index,
            self.worker,
            self.subtask,
            self.access,
            self.state,
            self.attempts,
            self.usage,
            self.cost,
            self.latency_ms,
        )


@dataclass(slots=True)
class ApprovalView:
    """One plan that people had to approve, and what they decided."""

    request: ev.ApprovalRequested
    requested_at: datetime
    settled: ev.ApprovalSettled | None = None
    settled_at: datetime | None = None
    is_withdrawn: bool = False
    """The run ended before anyone decided."""

    @property
    def outcome(self) -> str:
        """Return waiting, approved, refused, expired or withdrawn."""
        if self.settled is not None:
            return self.settled.outcome
        return "withdrawn" if self.is_withdrawn else "waiting"

    def waited_ms(self, until: datetime) -> int:
        """Return how long the plan had waited by then, in milliseconds."""
        end = min(self.settled_at or until, until)
        return max((end - self.requested_at) // timedelta(milliseconds=1), 0)

    @property
    def approvers(self) -> tuple[str, ...]:
        """Return the names of those who decided."""
        return self.settled.approvers if self.settled else ()

    @property
    def is_edited(self) -> bool:
        """Say whether a person changed the plan."""
        return self.settled is not None and self.settled.is_edited

    @property
    def refusal(self) -> str:
        """Return why it was refused; empty if it was not, or if that is erased."""
        return self.settled.reason if self.settled else ""


@dataclass(slots=True)
class RoundView:
    """One plan: how it came about and its steps."""

    index: int
    touched: int
    """Sequence number of the last entry that changed the plan."""
    calls: list[CallView] = field(default_factory=list)
    """The conductor's calls; a completed one with a fault was rejected."""
    vector_calls: list[CallView] = field(default_factory=list)
    """Calls of an embedding worker, for the vector of the prompt."""
    planner: str = ""
    reasoning: str = ""
    plans_rest: bool = False
    """True: the last step's worker plans the rest; its response is no answer."""
    planned_by: str = ""
    """The worker that made the plan. Empty: the planner did."""
    explanation: str = ""
    """JSON of a planner that explains itself; see `apps.planners.light.explanation`.
    Empty: it does not, or its words are erased."""
    stickiness: str = ""
    """As of `engine.plan.Plan`, like the next one."""
    stickiness_reason: str = ""
    steps: list[StepView] = field(default_factory=list)
    state: str = "planning"
    """planning, approval (people must approve the plan), planned, kept (the earlier
    answer stays) or stopped."""
    approvals: list[ApprovalView] = field(default_factory=list)
    """Plans of the round that people had to approve, in order."""

    @property
    def key(self) -> str:
        """Return the round's name in pages."""
        return str(self.index)

    @property
    def number(self) -> int:
        """Return the round's number, counted from 1."""
        return self.index + 1

    @property
    def version(self) -> str:
        """Return a word that changes whenever what is shown of the plan does."""
        return f"{self.touched}-{self.state}"

    @property
    def is_answered(self) -> bool:
        """Say whether its last step has written an answer."""
        last = self.steps[-1] if self.steps else None
        return last is not None and last.is_final and last.state == "completed"

    @property
    def attempt(self) -> int:
        """Return the number of the conductor's newest call; 0: there is none."""
        return self.calls[-1].number if self.calls else 0

    @property
    def rejected(self) -> list[CallView]:
        """Return the conductor's calls that led to no plan."""
        return [call for call in self.calls if call.fault]

    @property
    def why_rejected(self) -> str:
        """Return why the conductor's last call led to no plan; empty if it did."""
        return self.rejected[-1].message if self.rejected else ""

    @property
    def is_fallback(self) -> bool:
        """Say whether the plan is the fallback one."""
        return self.planner == FALLBACK


def text_digest(text: str) -> bytes:
    """Return a digest that equal texts share, blanks around them left out.

    Empty for an empty text, which says nothing of others: it may be erased.
    """
    bare = text.strip()
    return blake2b(bare.encode(), digest_size=12).digest() if bare else b""


def call_of(calls: Sequence[CallView], number: int) -> CallView:
    """Return the latest call of that number. Raises: KeyError if there is none."""
    for call in reversed(calls):
        if call.number == number:
            return call
    raise KeyError(number)


def total_cost(calls: Iterable[CallView]) -> Cost:
    """Return the cost of calls; unknown if the end of one is not known."""
    return sum((call.cost for call in calls), FREE)
