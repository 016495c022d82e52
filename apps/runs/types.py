"""Values that cross the border of the runs app."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from apps.audit.types import Actor
from apps.budgets.rate_limits import TokenMeter
from apps.engine.events import Event, RunCompleted, RunEnd, RunFailed
from apps.engine.ports import CallParams, Messages, Progress, ReusedAnswer
from apps.engine.usage import Cost, Usage
from apps.planners.fixed import FixedPlanner
from apps.runs.label_types import Label
from apps.runs.preset_use import PresetUse as PresetUse
from apps.runs.usage_rows import NO_KEY as NO_KEY
from apps.runs.usage_rows import NOBODY as NOBODY
from apps.runs.usage_rows import PLANNING as PLANNING
from apps.runs.usage_rows import UsageGroup as UsageGroup
from apps.runs.usage_rows import UsageRow as UsageRow
from apps.runs.usage_rows import WorkerCalls as WorkerCalls

IGNORED_FIELDS = "ignored_fields"
"""The part of a run's context that names what had no effect, with commas between."""
ENDED = "ended"
"""As a filter of states: all runs that do not go on."""
CallKey = tuple[int, int | None, int]
"""Which call of a run: round, step (None: the conductor) and attempt."""
Delivery = Literal["live", "verified"]
"""live: the final step's tokens go out as they come. verified: once they are whole."""


@dataclass(frozen=True, slots=True)
class RunRestrictions:
    """What a caller gives away of what the pool and the tier allow; never more."""

    workers: tuple[str, ...] = ()
    """Names of the pool's workers that may be used. Empty: all."""
    max_steps: int | None = None
    max_rounds: int | None = None
    max_cost_micros: int | None = None
    """None: what the tier says."""
    data_class: str | None = None
    """What the caller says of the prompt: public, internal, confidential or
    restricted. Rules of the policy depend on it. None: nothing."""
    approval: Literal["never"] | None = None
    """never: a plan that people must approve is refused at once."""
    exploration: Literal["never"] | None = None
    """never: the best plan that is known is used, and none near it is tried."""
    max_time_s: int | None = None
    """Of the whole run. None: what the tier says."""


UNRESTRICTED = RunRestrictions()


class PromptConfines(NamedTuple):
    """How far a prompt may go, as its caller and API key had it."""

    workers: frozenset[str] | None = None
    """Names of the only workers that may be sent it. None: all."""
    data_classes: tuple[str, ...] = ()
    """What was said of it."""

    def allow(self, worker: str) -> bool:
        """Say whether a worker may be sent the prompt, the policies apart."""
        return self.workers is None or worker in self.workers


UNCONFINED = PromptConfines()


@dataclass(slots=True)
class VectorSink:
    """Takes the vectors of a run that makes embeddings; the record has their digest."""

    vectors: tuple[bytes, ...] = ()
    """Each as 32-bit floating-point numbers, little endian. Empty until the call has
    its answer, and in every process but the one that started the run."""


@dataclass(frozen=True, slots=True)
class EmbeddedPrompts:
    """What came of having the vectors of some prompts made."""

    vectors: Mapping[str, bytes]
    """By prompt, as of `VectorSink`. Those that policies keep from the worker, and
    those without text, are missing. Empty if it failed."""
    usage: Usage
    """Of all calls, those that failed as well."""
    cost: Cost
    failure: str = ""
    """Why there are none. Empty: it did not fail."""
    is_limit: bool = False
    """True: the cost limit was reached."""


@dataclass(frozen=True, slots=True)
class RecordRedaction:
    """What placeholders replaced in a prompt before anything was recorded."""

    data_class: str
    """Of the prompt as it was."""
    findings: Mapping[str, int]
    """How many of each kind of sensitive data."""


@dataclass(frozen=True, slots=True)
class MirroredCall:
    """The run that another one repeats for comparison.

    Policies decide as they would for its caller.
    """

    run_id: uuid.UUID
    source: str
    user_id: uuid.UUID | None
    api_key_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class RunArm:
    """The side of an A/B test that a run is on."""

    test_id: uuid.UUID
    letter: Literal["a", "b"]
    """a: the tier as it is. b: the candidate."""
    model: str = ""
    """What answers in the place of the model that the caller names. Empty: that one."""
    planner: FixedPlanner | None = None
    """Plans in the place of that model's planner. None: that one does."""
    conductor: str = ""
    """As in a `RunOrder`, like the next two."""
    max_rounds: int | None = None
    pool_version: int | None = None
    workers: tuple[str, ...] = ()
    """As in `RunRestrictions`, like the next one."""
    max_steps: int | None = None


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Everything needed to start a run, already authenticated."""

    team_id: uuid.UUID
    actor: Actor
    prompt: str
    model: str
    """As the caller named it: `conductor-mini`, `conductor-ultra`, `<pool>/mini`,
    `<pool>/ultra`, `worker/<name>` or `<pool>/worker/<name>`."""
    source: str
    """A value of `runs.models.Source`."""
    prompt_field: str = "prompt"
    """The field of the request that held the prompt, for errors about it."""
    params: CallParams = field(default_factory=CallParams)
    is_streamed: bool = False
    """True: the answer goes out token by token and cannot be taken back."""
    is_watched: bool = True
    """False: no client waits for single tokens, so workers answer in one piece."""
    user_id: uuid.UUID | None = None
    api_key_id: uuid.UUID | None = None
    ignored: str = ""
    """Names of the request's fields that have no effect, for the ledger."""
    restrictions: RunRestrictions = UNRESTRICTED
    """What the caller wants narrower than the pool."""
    allowed_tiers: frozenset[str] = frozenset()
    """Tiers the API key may use. Empty: all."""
    allowed_workers: frozenset[str] = frozenset()
    """Workers the API key may use, of whatever pool. Empty: all."""
    key_data_class: str = ""
    """Of all prompts of the API key, at least. Empty: nothing is said."""
    meter: TokenMeter | None = None
    """Counts the run's tokens against the rates of its key and team; None: nothing
    does."""
    messages: Messages = ()
    """The conversation that `prompt` is the text of. Empty: there is no more to it."""
    continues: str = ""
    """The worker that asked for the tools whose results end the messages."""
    delivery: Delivery | None = None
    """None: what the tier says."""
    echo: Mapping[str, Any] = field(default_factory=dict)
    """What an answer gives back of its request, as JSON values. Kept with the
    parameters; without effect on the run."""
    vectors: VectorSink | None = None
    """Where the vectors go. None: the run answers a conversation."""
    redaction: RecordRedaction | None = None
    """None: the prompt is as the caller sent it."""
    planner: FixedPlanner | None = None
    """Plans in the place of the tier's planner. None: the tier's does."""
    conductor: str = ""
    """Name of a conductor of the team that plans in the place of the pool's, for
    evaluations and tests of candidates, like the next two. Empty: the pool's does."""
    max_rounds: int | None = None
    """Plans of the run in the place of the tier's limit. None: what the tier says.
    Policies may still lower it."""
    pool_version: int | None = None
    """The version of the pool that the run uses. None: the present one."""
    reused: tuple[ReusedAnswer, ...] = ()
    """Answers of an earlier run that the plan begins with."""
    derived_from: uuid.UUID | None = None
    """The run whose plan this one repeats. None: it has a plan of its own."""
    mirrors: MirroredCall | None = None
    """None: the run is no copy of another one."""
    arm: RunArm | None = None
    """None: the run is in no A/B test."""
    family: str = ""
    """The family of tasks that its caller names, or that its task has. Empty: none."""
    explores: bool | None = None
    """True: a plan near the best one is tried in its place, if it may be. None: not
    decided yet."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What its caller says of the run, by which lists can be filtered."""
    attachments: tuple[Mapping[str, Any], ...] = ()
    """Files and images that the messages hold: id, name, digest and what they are."""
    preset: PresetUse | None = None
    """What the prompt was made with. None: no preset."""
    idempotency_key: str = ""
    """Must stand for this run when it gets on record. Empty: nothing must."""

    @property
    def served_model(self) -> str:
        """Return the model that answers: the caller's, or the candidate's of a test."""
        return (self.arm and self.arm.model) or self.model

    @property
    def served_planner(self) -> FixedPlanner | None:
        """Return what plans in the place of that model's planner."""
        return self.planner or (self.arm.planner if self.arm else None)

    @property
    def served_conductor(self) -> str:
        """Return the conductor that plans in the place of the pool's; empty: none."""
        return self.conductor or (self.arm.conductor if self.arm else "")

    @property
    def served_rounds(self) -> int | None:
        """Return the plans of the run in the place of the tier's limit."""
        if self.max_rounds is None and self.arm:
            return self.arm.max_rounds
        return self.max_rounds

    @property
    def served_pool_version(self) -> int | None:
        """Return the version of the pool that the run uses; None: the present one."""
        if self.pool_version is None and self.arm:
            return self.arm.pool_version
        return self.pool_version

    @property
    def served_restrictions(self) -> RunRestrictions:
        """Return what is narrower than the pool: by the caller and the candidate.

        Orders that narrow workers or steps themselves are in no A/B test.
        """
        if self.arm is None:
            return self.restrictions
        return replace(
            self.restrictions,
            workers=self.arm.workers or self.restrictions.workers,
            max_steps=self.arm.max_steps or self.restrictions.max_steps,
        )


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step as a caller sees it afterwards. Failed attempts are in the sums."""

    round: int
    index: int
    worker: str
    """The worker that really answered (or tried last)."""
    subtask: str
    access: tuple[int, ...]
    state: str
    """completed, failed, skipped or cancelled."""
    attempts: int
    usage: Usage
    cost: Cost
    latency_ms: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A finished run, from its events alone."""

    run_id: uuid.UUID
    end: RunEnd
    steps: tuple[StepSummary, ...]
    planner: str
    orchestration_usage: Usage
    """The conductor's own calls."""
    orchestration_cost: Cost
    worker: str = ""
    """The worker that wrote the answer. Empty: none did."""
    has_estimated_usage: bool = False
    """True: a provider gave no usage, so a part of the tokens is our estimate."""

    @property
    def answer(self) -> str:
        """Return the answer, the best one so far, or why it was refused."""
        if isinstance(self.end, RunCompleted):
            return self.end.said
        return self.end.answer if isinstance(self.end, RunFailed) else ""


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run ended without its answer."""

    code: str
    """Stable word, as in the API's errors."""
    message: str


WaitsFor = Literal["approval"]
"""What a run can wait for: people who approve its plan."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as the ledger tells it, while it executes and ever after."""

    run_id: uuid.UUID
    created_at: datetime
    model: str
    """As the caller named it."""
    state: str
    """A value of `runs.models.RunState`."""
    source: str
    prompt: str
    messages: Messages
    """The conversation. Empty: there was nothing but the prompt."""
    params: Mapping[str, Any]
    """What the caller asked for beside the prompt, by the names of `CallParams`;
    `echo`, `delivery` and `narrowing` too if there were any."""
    context: Mapping[str, str]
    """Request id, address, user agent."""
    api_key_id: uuid.UUID | None
    user_id: uuid.UUID | None
    summary: RunSummary | None
    """None while it runs."""
    error: RunError | None
    """Of a run that failed or was cancelled."""
    waits_for: WaitsFor | None = None
    """What an unfinished run waits for, if it is not at work."""
    stated_classes: tuple[str, ...] = ()
    """Data classes stated for it, or found before placeholders replaced something."""


Signal = Progress | Event
"""What a listener hears: pieces of text as they come, events once durable."""
Listener = Callable[[Signal], None]


class LiveRun(Protocol):
    """A run that is executing in this process. Use it on the process's event loop."""

    @property
    def ignored(self) -> str:
        """Return the names of the request's fields that have no effect on the run.

        As its first entry holds them; empty: there are none, or it is not known here.
        """
        ...

    @property
    def id(self) -> uuid.UUID:
        """Return the run's public id."""
        ...

    def listen(self, listener: Listener) -> None:
        """Call `listener` for each signal from now on; it must not block or raise.

        Right after `run_start` nothing has happened yet, so nothing is missed.
        """
        ...

    def unlisten(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        ...

    def cancel(self, reason: str) -> None:
        """Stop the run: provider sockets close, `run.cancelled` is recorded."""
        ...

    async def finished(self) -> RunSummary:
        """Return when the last event is durable."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event with its place in the ledger."""

    seq: int
    recorded_at: datetime
    event: Event


class FaultName(NamedTuple):
    """A fault or loop that runs note at their end, as insights count them."""

    stage: str
    """plan, step, loop, or run: the whole run failed with that code."""
    fault: str
    worker: str
    """Empty for the conductor, whole plans and whole runs."""


@dataclass(frozen=True, slots=True)
class RunFilters:
    """What a list of runs is narrowed to; empty means all."""

    state: str = ""
    """A value of `runs.models.RunState`, or ENDED."""
    model: str = ""
    actor: str = ""
    """A part of the name of the person or key."""
    query: str = ""
    """A part of the title."""
    text: str = ""
    """Words and "phrases" of prompts and answers; `run_search` alone looks at it."""
    sources: tuple[str, ...] = ()
    """Values of `runs.models.Source`."""
    api_key_id: uuid.UUID | None = None
    user_id: uuid.UUID | None = None
    min_cost_micros: int | None = None
    max_cost_micros: int | None = None
    """Of the known part; both bounds are included."""
    since: datetime | None = None
    until: datetime | None = None
    tier: str = ""
    """mini, ultra or direct, as the caller named it."""
    planner: str | None = None
    """Empty: no plan was made. None: whatever it is, as for the next ones."""
    family: str | None = None
    """Empty: those without one."""
    preset_id: uuid.UUID | None = None
    """What made the prompt."""
    run_ids: tuple[uuid.UUID, ...] | None = None
    """Only some of these."""
    shape: str | None = None
    """`records.plan_shapes.Shape.key` of the newest plan; empty: there was no plan."""
    worker: str = ""
    """Called for a step, with or without an answer."""
    has_key: bool | None = None
    has_member: bool | None = None
    """False: without one, or it has been deleted."""
    fault: FaultName | None = None
    """A fault, a loop, or the code that the run failed with."""
    min_latency_ms: int | None = None
    flag: str = ""
    """A value of `records.search.RunFlag`."""
    labels: tuple[Label, ...] = ()
    """Tags and pairs of metadata; the run has all of them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run may cost before it begins."""

    low_micros: int
    high_micros: int
    basis: Literal["past runs", "prices", "unknown"]
    """unknown: a price is missing, and both figures are 0."""
    sample: int
    """Past runs it rests on; 0 for other bases."""
    usual_ms: int | None = None
    """How long half of the latest completed runs took at most; None: too few."""
    late_ms: int | None = None
    """How long nine in ten took at most."""
    typical_micros: int = 0
    """What most runs cost less than."""
    most_micros: int | None = None
    """With every step at its longest, or the limit. None: a price is missing."""


@dataclass(frozen=True, slots=True)
class SuspensionInForce:
    """A suspension in force."""

    team_id: uuid.UUID | None
    """None: the whole site."""
    reason: str
    actor: Actor
    """Who placed it."""

    @property
    def scope(self) -> str:
        """Return what it stops: team or site."""
        return "site" if self.team_id is None else "team"

    @property
    def message(self) -> str:
        """Say what is stopped, by whom and why."""
        what = "all runs of this site" if self.team_id is None else "this team's runs"
        return f"{what} were stopped by {self.actor.display}: {self.reason}"
