"""The story of a run, told from its ledger entries alone.

`tell` folds the recorded events into what the pages show: rounds, steps, attempts,
calls to the conductor, totals. It does no I/O and holds no layout, so the same entries
always read the same, live, after a reload, or years later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import singledispatchmethod

from apps.engine.events import (
    Event,
    PlanAccepted,
    PlanCallFailed,
    PlanKept,
    PlanRejectedEvent,
    PlanReplied,
    PlanRequested,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunResumed,
    StepAttemptFailed,
    StepCompleted,
    StepFailed,
    StepSkipped,
    StepStarted,
)
from apps.engine.text import strip_thinking
from apps.engine.usage import Cost, Usage
from apps.runs.types import RecordedEvent

_THINKING = re.compile(r"(?:\A|<think>)((?:(?!<think>).)*?)</think>", re.DOTALL)
"""A block of thinking; some servers swallow the first opening tag."""
CLOSED_BY_US = "cancelled"
"""Fault of a call that was in flight when its run was stopped."""
OVER = frozenset({"completed", "failed", "cancelled"})
"""States of a run, and of a step, in which nothing more will happen to it."""


@dataclass(slots=True)
class Call:
    """One call to a model: an attempt of a step, or the conductor being asked."""

    number: int
    worker: str
    """Empty for the conductor."""
    started_at: datetime
    messages: str
    """JSON text: exactly what was sent."""
    seq: int
    state: str = "running"
    """running, completed, failed, stopped, or unknown after a crash."""
    output: str = ""
    finish_reason: str = ""
    model: str = ""
    """The model the provider says it used."""
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    latency_ms: int | None = None
    first_token_ms: int | None = None
    fault: str = ""
    message: str = ""

    def end(
        self, state: str, usage: Usage, cost_micros: int | None, latency_ms: int
    ) -> None:
        """Note how the call ended and what it used."""
        self.state, self.usage, self.latency_ms = state, usage, latency_ms
        self.cost = part_cost(usage, cost_micros)


@dataclass(slots=True)
class StepStory:
    """One step of a plan and what became of it."""

    round: int
    index: int
    planned_worker: str
    subtask: str
    access: tuple[int, ...]
    is_final: bool
    """True for the last step, whose text is the answer."""
    touched: int
    """Sequence number of the last entry that changed what is shown."""
    state: str = "waiting"
    """waiting, running, retrying, completed, failed, skipped or cancelled."""
    calls: list[Call] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    fault: str = ""
    message: str = ""

    @property
    def number(self) -> int:
        """Return the step's number as people count."""
        return self.index + 1

    @property
    def key(self) -> str:
        """Return the step's name inside the page, for example `0-2`."""
        return f"{self.round}-{self.index}"

    @property
    def version(self) -> str:
        """Return a word that changes whenever the step's card must be redrawn."""
        return f"{self.touched}-{self.state}"

    @property
    def last_call(self) -> Call | None:
        """Return the latest attempt."""
        return self.calls[-1] if self.calls else None

    @property
    def worker(self) -> str:
        """Return the worker that really worked, or the planned one before that."""
        return self.calls[-1].worker if self.calls else self.planned_worker

    @property
    def was_replaced(self) -> bool:
        """Say whether another worker than the planned one took over."""
        return self.worker != self.planned_worker

    @property
    def failed_calls(self) -> list[Call]:
        """Return the attempts that ended without an answer."""
        return [call for call in self.calls if call.state in {"failed", "unknown"}]

    @property
    def reads(self) -> tuple[int, ...]:
        """Return the numbers of the steps it may read, as people count."""
        return tuple(index + 1 for index in self.access)

    @property
    def usage(self) -> Usage:
        """Return the tokens of all attempts."""
        return sum((call.usage for call in self.calls), Usage())

    @property
    def cost(self) -> Cost:
        """Return the money of all attempts."""
        return sum((call.cost for call in self.calls), Cost())


@dataclass(slots=True)
class RoundStory:
    """One plan: how it came about and its steps."""

    index: int
    touched: int
    calls: list[Call] = field(default_factory=list)
    """The conductor's calls; a completed one with a fault was rejected."""
    planner: str = ""
    reasoning: str = ""
    steps: list[StepStory] = field(default_factory=list)
    state: str = "planning"
    """planning, planned, kept (the earlier answer stays) or stopped."""

    @property
    def number(self) -> int:
        """Return the round's number as people count."""
        return self.index + 1

    @property
    def version(self) -> str:
        """Return a word that changes whenever the conductor's card must be redrawn."""
        return f"{self.touched}-{self.state}"

    @property
    def rejected(self) -> list[Call]:
        """Return the conductor's calls that led to no plan."""
        return [call for call in self.calls if call.fault]

    @property
    def is_fallback(self) -> bool:
        """Say whether the plan is the fallback one."""
        return self.planner == "fallback"


@dataclass(slots=True)
class RunStory:
    """Everything a page shows of one run."""

    prompt: str = ""
    tier: str = ""
    pool: str = ""
    pool_version: int = 0
    planner: str = ""
    limits: dict[str, int | None] = field(default_factory=dict)
    created_at: datetime | None = None
    last_at: datetime | None = None
    last_seq: int = 0
    state: str = "queued"
    """queued, planning, running, completed, failed or cancelled."""
    rounds: list[RoundStory] = field(default_factory=list)
    resumed: int = 0
    """How often another process took the run over."""
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    latency_ms: int | None = None
    """None until the run has ended."""
    overhead_ms: int | None = None
    answer: str = ""
    finish_reason: str = ""
    error_code: str = ""
    error_message: str = ""

    @property
    def is_over(self) -> bool:
        """Say whether the run has ended."""
        return self.state in OVER

    @property
    def steps(self) -> list[StepStory]:
        """Return the steps of all rounds, in order."""
        return [step for round_ in self.rounds for step in round_.steps]

    @property
    def steps_done(self) -> int:
        """Return how many steps have an answer."""
        return sum(step.state == "completed" for step in self.steps)

    @property
    def final_step(self) -> StepStory | None:
        """Return the step whose text is, or will be, the answer."""
        finals = [step for step in self.steps if step.is_final]
        return finals[-1] if finals else None

    @property
    def planning_calls(self) -> list[Call]:
        """Return every call to the conductor."""
        return [call for round_ in self.rounds for call in round_.calls]

    @property
    def planning_usage(self) -> Usage:
        """Return the tokens the conductor used; they are part of the total."""
        return sum((call.usage for call in self.planning_calls), Usage())

    @property
    def planning_cost(self) -> Cost:
        """Return the money the conductor used; it is part of the total."""
        return sum((call.cost for call in self.planning_calls), Cost())

    @property
    def busy_ms(self) -> int:
        """Return the time of all calls added up, as if none had run in parallel."""
        calls = [*self.planning_calls, *(c for s in self.steps for c in s.calls)]
        return sum(call.latency_ms or 0 for call in calls)


def tell(recorded: Sequence[RecordedEvent]) -> RunStory:
    """Return the story the entries of one run tell, in ledger order."""
    teller = _Teller()
    for entry in recorded:
        teller.hear(entry)
    return teller.story


def _ending(fault: str) -> str:
    """Return how a call without an answer ended: closed by us is no failure."""
    return "stopped" if fault == CLOSED_BY_US else "failed"


def part_cost(usage: Usage, micros: int | None) -> Cost:
    """Return the cost of one call; unknown only if there was something to pay for."""
    if micros is None:
        return Cost(0, has_unknown=usage.total_tokens > 0)
    return Cost(micros)


def split_thinking(text: str) -> tuple[str, str]:
    """Return the thinking inside `<think>` blocks, and the text without them."""
    thoughts = "\n\n".join(part.strip() for part in _THINKING.findall(text))
    return thoughts, strip_thinking(text).strip()


class _Teller:
    """Folds events into a story, one method per kind of event."""

    def __init__(self) -> None:
        self.story = RunStory()
        self._seq = 0
        self._at = datetime.min.replace(tzinfo=UTC)

    def hear(self, entry: RecordedEvent) -> None:
        self._seq, self._at = entry.seq, entry.recorded_at
        self.story.last_seq, self.story.last_at = entry.seq, entry.recorded_at
        self._hear(entry.event)

    @singledispatchmethod
    def _hear(self, event: Event) -> None:
        raise TypeError(f"expected an event of a run, got {type(event).__name__}")

    @_hear.register
    def _(self, event: RunCreated) -> None:
        story = self.story
        story.prompt, story.tier, story.planner = (
            event.prompt,
            event.tier,
            event.planner,
        )
        story.pool, story.pool_version = event.pool, event.pool_version
        story.limits, story.created_at = event.limits, self._at

    @_hear.register
    def _(self, event: RunResumed) -> None:
        self.story.resumed += 1
        self._stop_calls("unknown")

    @_hear.register
    def _(self, event: PlanRequested) -> None:
        round_ = self._round(event.round)
        round_.calls.append(
            Call(event.attempt, "", self._at, event.messages, self._seq)
        )

    @_hear.register
    def _(self, event: PlanReplied) -> None:
        call = self._plan_call(event.round, event.attempt)
        call.end("completed", event.usage, event.cost_micros, event.latency_ms)
        call.output, call.model = event.output, event.model
        call.finish_reason = event.finish_reason
        self._add(call)

    @_hear.register
    def _(self, event: PlanCallFailed) -> None:
        call = self._plan_call(event.round, event.attempt)
        call.end(_ending(event.fault), event.usage, event.cost_micros, event.latency_ms)
        call.fault, call.message = event.fault, event.message
        self._add(call)

    @_hear.register
    def _(self, event: PlanRejectedEvent) -> None:
        round_ = self._round(event.round)
        if round_.calls:
            round_.calls[-1].fault = event.fault
            round_.calls[-1].message = event.reason

    @_hear.register
    def _(self, event: PlanAccepted) -> None:
        round_ = self._round(event.round)
        round_.state, round_.planner = "planned", event.planner
        round_.reasoning = event.reasoning
        # Erased subtasks read as nothing; the plan's shape stays.
        subtasks = event.subtasks or ("",) * len(event.workers)
        last = len(event.workers) - 1
        parts = zip(event.workers, subtasks, event.access, strict=True)
        round_.steps = [
            StepStory(event.round, i, worker, subtask, access, i == last, self._seq)
            for i, (worker, subtask, access) in enumerate(parts)
        ]
        for index in event.skipped:
            round_.steps[index].state = "skipped"
            round_.steps[index].message = "The answer does not depend on this step."
        self.story.state = "running"

    @_hear.register
    def _(self, event: PlanKept) -> None:
        self._round(event.round).state = "kept"
        self.story.state = "running"

    @_hear.register
    def _(self, event: StepStarted) -> None:
        step = self._step(event.round, event.step)
        step.state = "running"
        step.calls.append(
            Call(event.attempt, event.worker, self._at, event.messages, self._seq)
        )

    @_hear.register
    def _(self, event: StepAttemptFailed) -> None:
        call = self._step_call(event.round, event.step)
        call.end(_ending(event.fault), event.usage, event.cost_micros, event.latency_ms)
        call.fault, call.message = event.fault, event.message
        self._step(event.round, event.step).state = "retrying"
        self._add(call)

    @_hear.register
    def _(self, event: StepCompleted) -> None:
        step, call = (
            self._step(event.round, event.step),
            self._step_call(event.round, event.step),
        )
        call.end("completed", event.usage, event.cost_micros, event.latency_ms)
        call.output, call.model = event.text, event.model
        call.finish_reason = event.finish_reason
        call.first_token_ms = event.first_token_ms
        thoughts, step.text = split_thinking(event.text)
        step.reasoning = "\n\n".join(filter(None, (event.reasoning, thoughts)))
        step.state = "completed"
        self._add(call)

    @_hear.register
    def _(self, event: StepFailed) -> None:
        step = self._step(event.round, event.step)
        step.state, step.fault, step.message = "failed", event.fault, event.message

    @_hear.register
    def _(self, event: StepSkipped) -> None:
        step = self._step(event.round, event.step)
        step.state, step.message = "skipped", event.reason

    @_hear.register
    def _(self, event: RunCompleted) -> None:
        self._end("completed", event)
        self.story.answer = event.answer
        self.story.finish_reason = event.finish_reason

    @_hear.register
    def _(self, event: RunFailed) -> None:
        self._end("failed", event)
        self.story.answer = event.answer
        self.story.error_code, self.story.error_message = event.code, event.message

    @_hear.register
    def _(self, event: RunCancelled) -> None:
        self._end("cancelled", event)
        self.story.error_code, self.story.error_message = "cancelled", event.reason

    def _end(self, state: str, event: RunCompleted | RunFailed | RunCancelled) -> None:
        story = self.story
        story.state = state
        story.usage = event.usage
        story.cost = Cost(event.cost_micros, event.has_unknown_cost)
        story.latency_ms, story.overhead_ms = event.latency_ms, event.overhead_ms
        self._stop_calls("stopped")
        for step in story.steps:
            if step.state in {"waiting", "running", "retrying"}:
                step.state, step.touched = "cancelled", self._seq
        for round_ in story.rounds:
            if round_.state == "planning":
                round_.state, round_.touched = "stopped", self._seq

    def _stop_calls(self, state: str) -> None:
        calls = [c for step in self.story.steps for c in step.calls]
        for call in (*self.story.planning_calls, *calls):
            if call.state == "running":
                call.state = state

    def _add(self, call: Call) -> None:
        self.story.usage += call.usage
        self.story.cost += call.cost

    def _round(self, index: int) -> RoundStory:
        rounds = self.story.rounds
        if not rounds or rounds[-1].index != index:
            rounds.append(RoundStory(index, self._seq))
            self.story.state = "planning"
        rounds[-1].touched = self._seq
        return rounds[-1]

    def _plan_call(self, round_index: int, attempt: int) -> Call:
        calls = self._round(round_index).calls
        return next(call for call in reversed(calls) if call.number == attempt)

    def _step(self, round_index: int, index: int) -> StepStory:
        rounds = reversed(self.story.rounds)
        round_ = next(r for r in rounds if r.index == round_index)
        round_.steps[index].touched = self._seq
        return round_.steps[index]

    def _step_call(self, round_index: int, index: int) -> Call:
        return self._step(round_index, index).calls[-1]
