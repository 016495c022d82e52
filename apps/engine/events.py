"""The events of a run, as values. The action names are a public contract.

The same dotted string names an event in the ledger, on the websocket and in logs.
Every event turns into a `Record` (plain facts for the hash chain, and bodies of text
kept apart from it) and back without loss; see `codec.py`. CONTRIBUTING.md lists what a
new event needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from apps.engine.usage import Usage

BODY = "body"
Body = Annotated[str, BODY]
"""A text that may be personal or long: stored apart, its digest in the chain."""
Bodies = Annotated[tuple[str, ...], BODY]
"""Several such texts under one digest."""
Json = Annotated[str, BODY]
"""A body that is JSON text, for example the exact messages of a call."""


@dataclass(frozen=True, slots=True)
class RunCreated:
    """A prompt was accepted. Written by the run service, not by the engine."""

    action: ClassVar[str] = "run.created"
    prompt: Body
    tier: str
    pool: str
    pool_version: int
    planner: str
    is_streamed: bool
    limits: dict[str, int | None]
    """The limits in force; times in milliseconds."""
    params: Json = ""
    """What the caller asked for beside the prompt, as a JSON object."""
    redacted: dict[str, int] | None = None
    """Sensitive data that placeholders replaced before anything was recorded: how many
    of each kind. None: the prompt is as it was sent."""
    redacted_class: str = ""
    """The data class of the prompt before that. Empty: nothing was replaced."""
    ab_test: str = ""
    """Id of the A/B test that the run belongs to. Empty: to none."""
    ab_arm: str = ""
    """a (the tier as it is) or b (the candidate). Empty: no A/B test."""
    family: str = ""
    """The family of tasks that its caller names, or that its task has. Empty: none."""
    preset: str = ""
    """Id of the preset that the prompt was made with. Empty: none."""
    preset_version: int | None = None
    """The version of that preset. None: no preset."""
    is_preset_edited: bool = False
    """True: the text was changed by hand after the preset's variables were filled in.
    """


@dataclass(frozen=True, slots=True)
class RunResumed:
    """Another process, or the same one after a restart, goes on with the run."""

    action: ClassVar[str] = "run.resumed"
    unknown_calls: int
    """Calls that had been started and whose outcome is lost."""


@dataclass(frozen=True, slots=True)
class PolicyDecided:
    """The policies were checked, and a rule applied, or would have in shadow mode."""

    action: ClassVar[str] = "policy.decided"
    stage: str
    """run (before anything leaves, and before a later plan if something has changed),
    plan (before it is accepted) or step (before each call)."""
    round: int | None
    """None: the whole run."""
    step: int | None
    outcome: str
    """allowed, restricted, approval (people must approve the plan) or denied."""
    versions: dict[str, int]
    """The version of each policy that was checked, by its name: `site`, `team`."""
    rules: tuple[str, ...]
    """Names of the rules that applied, in order, with their policy: `team: EU only`."""
    shadow_rules: tuple[str, ...]
    """Names of rules in shadow mode, which only record that they would have applied."""
    refused_workers: tuple[str, ...]
    """Workers of the pool that this run may not use (any more)."""
    limits: dict[str, int]
    """Limits that the rules lower, by the names of `run.created`."""
    reason: str
    """Empty: no rule applied."""
    approvals_needed: int = 0
    """How many people must approve the plan before it is accepted."""
    approval_expires_at: str = ""
    """Until when they may, in ISO 8601, UTC. Empty: nobody must."""
    estimated_cost_micros: int | None = None
    """Of a plan that people must approve. None: unknown, or no approval is needed."""
    data_class: str = ""
    """Of the prompt. Empty: nothing depends on it, or it could not be determined."""
    findings: dict[str, int] | None = None
    """Sensitive data in the prompt: how many of each kind. None: nobody looked."""
    redacts: tuple[str, ...] = ()
    """Kinds of sensitive data that no model may see: placeholders take their place."""
    restores: bool = False
    """True: the values are put back into the answer."""


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A plan waits until people have approved it. Nothing is called meanwhile."""

    action: ClassVar[str] = "approval.requested"
    round: int
    planner: str
    plan_digest: str
    """`Plan.digest`; an approval is bound to it."""
    approvals_needed: int
    expires_at: str
    """In ISO 8601, UTC."""
    rules: tuple[str, ...]
    """Names of the rules that applied to the plan, with their policy."""
    reason: str
    estimated_cost_micros: int | None
    """None: the price of a worker is unknown."""
    workers: tuple[str, ...]
    access: tuple[tuple[int, ...], ...]
    subtasks: Bodies
    reasoning: Body
    data_class: str = ""
    """Of the prompt. Empty: no rule depends on it."""
    explanation: Body = ""
    """As of `Plan`."""
    plans_rest: bool = False
    """As of `Plan`."""
    planned_by: str = ""
    """As of `plan.accepted`."""
    stickiness: str = ""
    """As of `Plan`, like the next one."""
    stickiness_reason: str = ""

    def __post_init__(self) -> None:
        """Keep the plan's shape if its content was erased: each text reads as empty."""
        if not self.subtasks:
            object.__setattr__(self, "subtasks", ("",) * len(self.workers))


@dataclass(frozen=True, slots=True)
class ApprovalSettled:
    """The wait for an approval is over. An approved plan is accepted with it."""

    action: ClassVar[str] = "approval.settled"
    round: int
    plan_digest: str
    """Of the plan as it stands now; differs from the request's if it was edited."""
    outcome: str
    """approved, refused or expired."""
    approvers: tuple[str, ...]
    """Names of those who decided, as the ledger has them."""
    is_edited: bool
    """True: a person changed the plan."""
    reason: Body
    """Why it was refused, in the approver's words."""


@dataclass(frozen=True, slots=True)
class PlanRequested:
    """The conductor is about to be asked, or a worker for the prompt's vector."""

    action: ClassVar[str] = "plan.requested"
    round: int
    attempt: int
    """Counts every call of the round from 1."""
    messages: Json
    embedder: str = ""
    """The embedding worker that makes the vector of the prompt, for a planner without a
    model. Empty: the conductor is asked for a plan."""


@dataclass(frozen=True, slots=True)
class PlanReplied:
    """The model that was asked answered completely. Says nothing of a plan's worth."""

    action: ClassVar[str] = "plan.replied"
    round: int
    attempt: int
    output: Body
    """Of an embedding worker, the digest of the vector."""
    finish_reason: str
    model: str
    usage: Usage
    cost_micros: int | None
    """None: the price is unknown."""
    latency_ms: int


@dataclass(frozen=True, slots=True)
class PlanCallFailed:
    """A call for a plan, or for the prompt's vector, did not end in an answer."""

    action: ClassVar[str] = "plan.call_failed"
    round: int
    attempt: int
    fault: str
    message: Body
    """In words; may quote what the provider said."""
    usage: Usage
    cost_micros: int | None
    latency_ms: int


@dataclass(frozen=True, slots=True)
class PlanRejectedEvent:
    """The answer held no usable plan."""

    action: ClassVar[str] = "plan.rejected"
    round: int
    fault: str
    reason: Body
    """May quote the conductor."""


@dataclass(frozen=True, slots=True)
class PlanAccepted:
    """A plan is in force. It is never re-generated, not even after a crash."""

    action: ClassVar[str] = "plan.accepted"
    round: int
    planner: str
    """Name of the planner, "fallback", "approver" for a plan a person edited, or
    "delegated" for one of a worker that was to plan the rest."""
    workers: tuple[str, ...]
    access: tuple[tuple[int, ...], ...]
    skipped: tuple[int, ...]
    """Steps the answer cannot depend on; they are not run."""
    subtasks: Bodies
    reasoning: Body
    explanation: Body = ""
    """As of `Plan`."""
    plans_rest: bool = False
    """True: the last step's worker plans the rest; its response is no answer."""
    planned_by: str = ""
    """The worker whose plan it is, of a delegated one. Empty: it is no worker's."""
    stickiness: str = ""
    """As of `Plan`, like the next one."""
    stickiness_reason: str = ""

    def __post_init__(self) -> None:
        """Keep the plan's shape if its content was erased: each text reads as empty."""
        if not self.subtasks:
            object.__setattr__(self, "subtasks", ("",) * len(self.workers))


@dataclass(frozen=True, slots=True)
class PlanKept:
    """The planner saw the answer and left it as it is."""

    action: ClassVar[str] = "plan.kept"
    round: int


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A worker is about to be called. Durable before the first byte leaves."""

    action: ClassVar[str] = "step.started"
    round: int
    step: int
    attempt: int
    """Counts the calls of this step from 1."""
    worker: str
    """May differ from the planned one when the fallback worker takes over."""
    messages: Json
    """Exactly what the worker is sent."""


@dataclass(frozen=True, slots=True)
class StepAttemptFailed:
    """One call of a step did not end in a complete answer."""

    action: ClassVar[str] = "step.attempt_failed"
    round: int
    step: int
    attempt: int
    worker: str
    fault: str
    message: Body
    """In words; may quote what the provider said."""
    usage: Usage
    cost_micros: int | None
    latency_ms: int


@dataclass(frozen=True, slots=True)
class StepCompleted:
    """A worker answered completely. The step never runs again."""

    action: ClassVar[str] = "step.completed"
    round: int
    step: int
    attempt: int
    worker: str
    text: Body
    """The response, `<think>` blocks included."""
    reasoning: Body
    """Hidden thinking the provider showed apart from the answer."""
    finish_reason: str
    model: str
    usage: Usage
    cost_micros: int | None
    latency_ms: int
    first_token_ms: int | None
    tool_calls: Json = ""
    """The calls of the caller's tools, as a JSON array of `ToolCallPart`."""
    stop_sequence: Body = ""
    """Which of the caller's stop sequences ended it; empty: none that is known."""
    listed_workers: tuple[str, ...] = ()
    """Of a step that plans the rest: the workers that its prompt listed, by number."""
    refusal: Body = ""
    """Why there is no more of the text, if the model or its provider refused it."""


@dataclass(frozen=True, slots=True)
class StepFailed:
    """No call of the step succeeded."""

    action: ClassVar[str] = "step.failed"
    round: int
    step: int
    fault: str
    message: Body
    """In words; may quote what the provider said."""


@dataclass(frozen=True, slots=True)
class StepReused:
    """The step has an answer from an earlier run, so no worker is called for it."""

    action: ClassVar[str] = "step.reused"
    round: int
    step: int
    worker: str
    """Who answered in the earlier run."""
    text: Body
    """The visible response, or what a person put in its place."""
    run_id: str
    """The earlier run."""
    is_edited: bool
    """True: a person wrote the answer."""


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """The step was not run: after a failure elsewhere in the round it has no use."""

    action: ClassVar[str] = "step.skipped"
    round: int
    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunCompleted:
    """The run has its answer."""

    action: ClassVar[str] = "run.completed"
    answer: Body
    finish_reason: str
    usage: Usage
    cost_micros: int
    has_unknown_cost: bool
    latency_ms: int
    """Without the time in which it waited for people."""
    overhead_ms: int
    """Time in which no model was being waited for."""
    tool_calls: Json = ""
    """What the answer wants called, as a JSON array of `ToolCallPart`."""
    stop_sequence: Body = ""
    """Which of the caller's stop sequences ended it; empty: none that is known."""
    refusal: Body = ""
    """Why there is no more of the answer, if a model or its provider refused it."""

    @property
    def said(self) -> str:
        """Return what the caller reads: the answer, or why there is none."""
        return self.answer or self.refusal


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended without the answer that was asked for."""

    action: ClassVar[str] = "run.failed"
    code: str
    """Stable word: limit_calls, limit_tokens, …, worker_failed, policy_denied,
    approval_refused, approval_expired, …"""
    message: Body
    """In words; may quote what the provider said."""
    answer: Body
    """The best answer so far; may be empty."""
    usage: Usage
    cost_micros: int
    has_unknown_cost: bool
    latency_ms: int
    overhead_ms: int
    is_lasting: bool = False
    """True: the same request would fail in the same way, however long it waits."""
    retry_after_s: int | None = None
    """Seconds after which a worker that failed may be asked again. None: unknown."""


@dataclass(frozen=True, slots=True)
class RunCancelled:
    """A person, an API key or a closed connection cancelled the run."""

    action: ClassVar[str] = "run.cancelled"
    reason: str
    usage: Usage
    cost_micros: int
    has_unknown_cost: bool
    latency_ms: int
    overhead_ms: int


PlanEvent = (
    PlanRequested
    | PlanReplied
    | PlanCallFailed
    | PlanRejectedEvent
    | PlanAccepted
    | PlanKept
)
StepEvent = (
    StepStarted
    | StepAttemptFailed
    | StepCompleted
    | StepReused
    | StepFailed
    | StepSkipped
)
RunEnd = RunCompleted | RunFailed | RunCancelled
CallOutcome = PlanReplied | PlanCallFailed | StepAttemptFailed | StepCompleted
"""Events that end a call: they carry its usage and cost."""
ApprovalEvent = ApprovalRequested | ApprovalSettled
Event = (
    RunCreated
    | RunResumed
    | PolicyDecided
    | ApprovalEvent
    | PlanEvent
    | StepEvent
    | RunEnd
)
ALL_EVENTS: tuple[type[Event], ...] = Event.__args__
