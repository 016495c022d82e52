"""Tells the story of a run from its ledger entries, event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import singledispatchmethod
from typing import Any

import orjson

from apps.engine.errors import CallFault
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
from apps.engine.usage import Cost
from apps.playground.message_view import shown_calls, shown_images
from apps.playground.run_story import (
    CLOSED_BY_US,
    OVER,
    CallView,
    RoundStory,
    RunStory,
    StepStory,
    split_thinking,
)
from apps.runs.types import RecordedEvent

NOT_ASKED = frozenset(
    {"delivery", "echo", "narrowing", "allowed_tiers", "allowed_workers"}
)
"""Parameters of a run that say nothing of the question or the answer's form."""
RIVAL = "asked as well, because the answer was late"
REPAIR = "asked to put its answer into the right form"
CONTINUED = "went on from what had been sent"


def tell(recorded: Sequence[RecordedEvent]) -> RunStory:
    """Return the story the entries of one run tell, in ledger order."""
    builder = _ViewBuilder()
    for entry in recorded:
        builder.hear(entry)
    return builder.story


def _ending(fault: str) -> str:
    """Return how a call without an answer ended: closed by us is no failure."""
    return "stopped" if fault == CLOSED_BY_US else "failed"


def _form(response_format: Mapping[str, Any]) -> str:
    """Return what form the answer was to have; empty: any."""
    if response_format.get("type") == "json_object":
        return "a JSON object"
    if named := response_format.get("json_schema"):
        return f"JSON by the schema “{named.get('name', '')}”"
    return ""


class _ViewBuilder:
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
        params: dict[str, Any] = orjson.loads(event.params or "{}")
        story.is_conversation = not params.keys() <= NOT_ASKED
        story.images = shown_images(params.get("messages", ()))
        story.tools = tuple(
            tool["function"]["name"] for tool in params.get("tools", ())
        )
        story.form = _form(params.get("response_format") or {})
        story.delivery = params.get("delivery") or ""

    @_hear.register
    def _(self, event: RunResumed) -> None:
        self.story.resumed += 1
        self._stop_calls("unknown")

    @_hear.register
    def _(self, event: PlanRequested) -> None:
        round_ = self._round(event.round)
        round_.calls.append(
            CallView(event.attempt, "", self._at, event.messages, self._seq)
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
        last = len(event.workers) - 1
        parts = zip(event.workers, event.subtasks, event.access, strict=True)
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
        call = CallView(
            event.attempt, event.worker, self._at, event.messages, self._seq
        )
        call.note = _note(step, call)
        step.calls.append(call)

    @_hear.register
    def _(self, event: StepAttemptFailed) -> None:
        step = self._step(event.round, event.step)
        call = step.call(event.attempt)
        call.end(_ending(event.fault), event.usage, event.cost_micros, event.latency_ms)
        call.fault, call.message = event.fault, event.message
        if step.state not in OVER and not step.running_calls:
            step.state = "retrying"
        self._add(call)

    @_hear.register
    def _(self, event: StepCompleted) -> None:
        step = self._step(event.round, event.step)
        call = step.call(event.attempt)
        call.end("completed", event.usage, event.cost_micros, event.latency_ms)
        call.output, call.model = event.text, event.model
        call.finish_reason = event.finish_reason
        call.first_token_ms = event.first_token_ms
        thoughts, step.text = split_thinking(event.text)
        step.reasoning = "\n\n".join(filter(None, (event.reasoning, thoughts)))
        step.tool_calls = shown_calls(event.tool_calls)
        step.state, step.answered_by = "completed", call
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
        self.story.tool_calls = shown_calls(event.tool_calls)

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
                # It was sent; what it used was never recorded.
                call.state, call.cost = state, Cost(0, has_unknown=True)

    def _add(self, call: CallView) -> None:
        self.story.usage += call.usage
        self.story.cost += call.cost

    def _round(self, index: int) -> RoundStory:
        rounds = self.story.rounds
        if not rounds or rounds[-1].index != index:
            rounds.append(RoundStory(index, self._seq))
            self.story.state = "planning"
        rounds[-1].touched = self._seq
        return rounds[-1]

    def _plan_call(self, round_index: int, attempt: int) -> CallView:
        calls = self._round(round_index).calls
        return next(call for call in reversed(calls) if call.number == attempt)

    def _step(self, round_index: int, index: int) -> StepStory:
        rounds = reversed(self.story.rounds)
        round_ = next(r for r in rounds if r.index == round_index)
        round_.steps[index].touched = self._seq
        return round_.steps[index]


def _note(step: StepStory, call: CallView) -> str:
    """Return why a call was made beside or after others of its step."""
    if step.running_calls:
        return RIVAL
    if not step.calls:
        return ""
    before = step.calls[-1]
    if before.fault == CallFault.INVALID_OUTPUT and before.worker == call.worker:
        return REPAIR
    messages = orjson.loads(call.messages or "[]")
    if messages and messages[-1]["role"] == "assistant":
        return CONTINUED
    return ""
