"""Folds the events of a run into rounds, steps and calls, with sums and states.

Sums and states are worked out here and nowhere else; `run_view.py` adds what is read
of them. Pure: no ORM, no I/O.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from apps.engine import events as ev
from apps.engine.events import CallOutcome, PlanEvent, RunEnd, StepEvent
from apps.engine.usage import Cost
from apps.runs.preset_use import PresetUse, preset_used
from apps.runs.records.round_view import (
    FREE,
    UNUSED,
    ApprovalView,
    CallView,
    RoundView,
    StepView,
    call_of,
    text_digest,
)

NEVER = datetime.min.replace(tzinfo=UTC)
"""The time of an event whose entry is not at hand."""


class RunFold:
    """What the events of one run have come to so far."""

    def __init__(self, *, keeps_texts: bool = True) -> None:
        """Begin with no event.

        `keeps_texts` false: answers and what models were sent are left out, which
        spares a run that executes their memory.
        """
        self._keeps_texts = keeps_texts
        self._steps: dict[tuple[int, int], StepView] = {}
        self.prompt = ""
        """Empty if it has been erased."""
        self.params = ""
        """What came with the prompt, as a JSON object; empty: nothing."""
        self.redacted_class = ""
        """Of the prompt before placeholders replaced anything; empty: nothing was."""
        self.preset: PresetUse | None = None
        """What the prompt was made with. None: no preset."""
        self.prompt_characters = 0
        """How long the prompt is, kept or not; 0 if it has been erased."""
        self.tier = ""
        self.pool = ""
        self.pool_version = 0
        self.created_at: datetime | None = None
        self.last_at: datetime | None = None
        self.last_seq = 0
        self.policy_decisions: list[ev.PolicyDecided] = []
        self.rounds: list[RoundView] = []
        self.planner = ""
        """Of the newest plan."""
        self.resumes = 0
        """How often a process took the run up again."""
        self.usage = UNUSED
        """Of all calls whose end is on record."""
        self.cost = FREE
        self.orchestration_usage = UNUSED
        """The part of planning: the conductor's, and that of vectors."""
        self.orchestration_cost = FREE
        self.end: RunEnd | None = None

    @property
    def steps(self) -> list[StepView]:
        """Return the steps of all rounds, in order."""
        return list(self._steps.values())

    @property
    def planning_calls(self) -> list[CallView]:
        """Return every call for a plan: to the conductor, and for vectors."""
        return [
            call
            for round_ in self.rounds
            for call in (*round_.calls, *round_.vector_calls)
        ]

    @property
    def step_calls(self) -> list[CallView]:
        """Return every call to a worker."""
        return [call for step in self._steps.values() for call in step.calls]

    def add(
        self, event: ev.Event, seq: int = 0, at: datetime = NEVER
    ) -> StepView | None:
        """Take an event; return the step it is about, if it is about one.

        Raises: KeyError if it names a step or call that no earlier event began.
        """
        self.last_seq, self.last_at = seq, at
        match event:
            case (
                ev.StepStarted()
                | ev.StepCompleted()
                | ev.StepAttemptFailed()
                | ev.StepReused()
                | ev.StepFailed()
                | ev.StepSkipped()
            ):
                return self._add_to_step(event)
            case ev.RunCreated():
                self._create(event)
            case ev.PolicyDecided():
                self.policy_decisions.append(event)
            case ev.ApprovalRequested() | ev.ApprovalSettled():
                self._add_approval(event)
            case ev.RunResumed():
                self.resumes += 1
                self._lose_calls("unknown")
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                self._end(event)
            case _:
                self._add_to_plan(event)
        return None

    def _create(self, event: ev.RunCreated) -> None:
        self.tier = event.tier
        self.pool, self.pool_version = event.pool, event.pool_version
        self.created_at = self.last_at
        self.redacted_class = event.redacted_class
        self.preset = preset_used(event)
        self.prompt_characters = len(event.prompt)
        if self._keeps_texts:
            self.prompt, self.params = event.prompt, event.params

    def _add_approval(self, event: ev.ApprovalEvent) -> None:
        round_, at = self._touched_round(event.round), self.last_at or NEVER
        if isinstance(event, ev.ApprovalRequested):
            round_.state = "approval"
            round_.approvals.append(ApprovalView(event, at))
            return
        if not round_.approvals:
            raise KeyError(event.action)
        latest = round_.approvals[-1]
        latest.settled, latest.settled_at = event, at
        round_.state = "planning"

    def _add_to_plan(self, event: PlanEvent) -> None:
        round_ = self._touched_round(event.round)
        match event:
            case ev.PlanRequested():
                calls = round_.vector_calls if event.embedder else round_.calls
                calls.append(self._begun(event, event.embedder))
            case ev.PlanReplied():
                call = _planning_call(round_, event.attempt)
                call.complete(event, self._count_planning(event))
                call.finish_reason, call.model = event.finish_reason, event.model
                if self._keeps_texts:
                    call.output = event.output
            case ev.PlanCallFailed():
                call = _planning_call(round_, event.attempt)
                cost = self._count_planning(event)
                call.fail(event, cost, event.fault, event.message)
            case ev.PlanRejectedEvent():
                if round_.calls:
                    last = round_.calls[-1]
                    last.fault, last.message = event.fault, event.reason
            case ev.PlanAccepted():
                self._accept(round_, event)
            case ev.PlanKept():
                round_.state = "kept"
            case _:
                assert_never(event)

    def _accept(self, round_: RoundView, event: ev.PlanAccepted) -> None:
        self.planner = round_.planner = event.planner
        round_.state = "planned"
        round_.plans_rest, round_.planned_by = event.plans_rest, event.planned_by
        round_.stickiness = event.stickiness
        round_.stickiness_reason = event.stickiness_reason
        if self._keeps_texts:
            round_.reasoning = event.reasoning
            round_.explanation = event.explanation
        last = len(event.workers) - 1
        parts = zip(event.workers, event.subtasks, event.access, strict=True)
        for i, (worker, subtask, access) in enumerate(parts):
            step = StepView(
                event.round,
                i,
                worker,
                subtask,
                access,
                i == last and not event.plans_rest,
                self.last_seq,
                worker,
                plans_rest=i == last and event.plans_rest,
            )
            self._steps[step.place] = step
            round_.steps.append(step)

    def _add_to_step(self, event: StepEvent) -> StepView:
        step = self._steps[event.round, event.step]
        step.touched = self.last_seq
        match event:
            case ev.StepStarted():
                call = self._begun(event, event.worker)
                if step.calls:
                    call.before = step.calls[-1]
                    call.is_rival = bool(step.running_calls)
                step.calls.append(call)
                step.state, step.worker = "running", event.worker
            case ev.StepCompleted():
                self._complete(step, event)
            case ev.StepAttemptFailed():
                cost = self._count(event)
                call = step.settle(event, cost)
                call.fail(event, cost, event.fault, event.message)
            case ev.StepReused():
                self._reuse(step, event)
            case ev.StepFailed():
                step.state, step.fault, step.message = (
                    "failed",
                    event.fault,
                    event.message,
                )
            case ev.StepSkipped():
                step.state, step.message = "skipped", event.reason
            case _:
                assert_never(event)
        return step

    def _complete(self, step: StepView, event: ev.StepCompleted) -> None:
        cost = self._count(event)
        call = step.settle(event, cost)
        call.complete(event, cost)
        call.finish_reason, call.model = event.finish_reason, event.model
        call.first_token_ms = event.first_token_ms
        call.answer_digest = text_digest(event.text)
        # Of two rivals, this may be the one that was called first.
        step.state, step.worker, step.answered_by = "completed", event.worker, call
        if self._keeps_texts:
            call.output, call.reasoning = event.text, event.reasoning
            call.tool_calls = event.tool_calls

    def _reuse(self, step: StepView, event: ev.StepReused) -> None:
        """Give a step the answer of an earlier run; no call is behind it here."""
        answer = CallView(0, event.worker, self.last_at or NEVER, self.last_seq)
        answer.state, answer.finish_reason = "completed", "stop"
        answer.answer_digest = text_digest(event.text)
        if self._keeps_texts:
            answer.output = event.text
        step.state, step.worker, step.answered_by = "completed", event.worker, answer
        step.reused_from, step.is_edited = event.run_id, event.is_edited

    def _begun(self, event: ev.PlanRequested | ev.StepStarted, worker: str) -> CallView:
        messages = event.messages if self._keeps_texts else ""
        at, seq = self.last_at or NEVER, self.last_seq
        return CallView(event.attempt, worker, at, seq, messages)

    def _count(self, event: CallOutcome) -> Cost:
        micros = event.cost_micros
        cost = Cost(0, has_unknown=True) if micros is None else Cost(micros)
        self.usage += event.usage
        self.cost += cost
        return cost

    def _count_planning(self, event: CallOutcome) -> Cost:
        cost = self._count(event)
        self.orchestration_usage += event.usage
        self.orchestration_cost += cost
        return cost

    def _lose_calls(self, state: str) -> None:
        for call in (*self.planning_calls, *self.step_calls):
            if call.state == "running":
                call.lose(state)

    def _end(self, event: RunEnd) -> None:
        self.end = event
        self._lose_calls("stopped")
        for step in self.steps:
            if not step.is_over:
                step.state, step.touched = "cancelled", self.last_seq
        for round_ in self.rounds:
            if round_.state in ("planning", "approval"):
                round_.state, round_.touched = "stopped", self.last_seq
            for approval in round_.approvals:
                approval.is_withdrawn = approval.settled is None

    def _touched_round(self, index: int) -> RoundView:
        """Return the round an event is about; the first event of a round begins it."""
        if not self.rounds or self.rounds[-1].index != index:
            self.rounds.append(RoundView(index, self.last_seq))
        self.rounds[-1].touched = self.last_seq
        return self.rounds[-1]


def _planning_call(round_: RoundView, attempt: int) -> CallView:
    """Return a call for the round's plan. Raises: KeyError if there is none."""
    return call_of((*round_.vector_calls, *round_.calls), attempt)
