"""The ports of the engine, as protocols, and the values that cross them.

Adapters live in `apps.runs.execution.recorder`, planners in `apps.planners`, fakes in
`apps.engine.testing`. Time comes from the running event loop, so a test may bring
a loop whose clock is virtual.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Protocol,
    TypedDict,
)

from apps.engine.events import Event
from apps.engine.limits import Limits
from apps.engine.meter import StepCosts
from apps.engine.plan import Plan, PlannedStep, PlanPreview
from apps.engine.usage import Price, Usage
from apps.engine.vectors.prompt_vectors import PromptVector, no_vector

if TYPE_CHECKING:
    from apps.engine.delegation import RestPlanner
    from apps.engine.gate import Gate


class TextPart(TypedDict):
    """A piece of text in a message."""

    type: Literal["text"]
    text: str
    cache_control: NotRequired[Mapping[str, Any]]
    """Marks the end of what a provider shall cache; in Anthropic's words."""


class ImageUrl(TypedDict):
    """Where an image is: a `data:` URL that holds it, or an `https:` address."""

    url: str
    detail: NotRequired[str]
    """low, high or auto; passed on."""


class ImagePart(TypedDict):
    """An image in a message."""

    type: Literal["image_url"]
    image_url: ImageUrl
    cache_control: NotRequired[Mapping[str, Any]]
    """As of a text."""


class FunctionCall(TypedDict):
    """What a model wants called."""

    name: str
    arguments: str
    """JSON text, as the model wrote it."""


class ToolCallPart(TypedDict):
    """A model's wish for a tool of the caller, inside an assistant's message."""

    id: str
    type: Literal["function"]
    function: FunctionCall


class Message(TypedDict):
    """One chat message, in the shape of chat completions."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[TextPart | ImagePart]
    """Empty where an assistant only called tools."""
    tool_calls: NotRequired[list[ToolCallPart]]
    """Of an assistant."""
    tool_call_id: NotRequired[str]
    """Of a tool's result: which call it answers."""


Messages = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class CallParams:
    """What a caller may ask of a model, in the words of chat completions."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    response_format: Mapping[str, Any] | None = None
    """In the shape of chat completions. The final step's answer is checked by it."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Functions of the caller, in the shape of chat completions."""
    tool_choice: str | Mapping[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    extra: Mapping[str, Any] | None = None
    """Checked parameters that not every model takes, by their names, such as
    `reasoning_effort`. Each worker gets those it takes. None: there are none."""
    is_extra_translated: bool | None = None
    """True: `extra` was asked for in the words of another protocol, so that no worker
    gets what it is not known to take."""


@dataclass(frozen=True, slots=True)
class ReusedAnswer:
    """The answer of a step of the first plan, from an earlier run."""

    step: int
    """Its index in the plan."""
    worker: str
    """Who answered."""
    text: str
    run_id: str
    """The earlier run."""
    is_edited: bool = False
    """True: a person wrote it."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a person or program wants done."""

    prompt: str
    """The complete user question; every worker sees all of it."""
    params: CallParams = field(default_factory=CallParams)
    """Apply to the final step."""
    is_streamed: bool = False
    """True: the final step's text goes out as it comes, so it can't be taken back."""
    is_watched: bool = True
    """False: no client watches the steps, so workers need not stream."""
    messages: Messages = ()
    """The conversation itself, for a worker that is asked directly, and the images of
    it for all. Empty: there is nothing but `prompt`."""
    reused: tuple[ReusedAnswer, ...] = ()
    """Answers that the first plan begins with, unless an approver changed it."""


@dataclass(frozen=True, slots=True)
class PoolWorker:
    """A worker as the engine sees it: no address, no secret."""

    name: str
    price: Price | None = None
    """None: unknown."""
    description: str = ""
    max_output_tokens: int = 4096
    context_tokens: int | None = None
    """Input and output together. None: unknown."""
    accepts_images: bool = False
    accepts_tools: bool = True
    accepts_prefill: bool = False
    """True: it goes on from a partial answer that ends the messages."""
    extra_params: frozenset[str] | None = None
    """Names of the extra parameters it takes. None: all."""
    listed_params: frozenset[str] = frozenset()
    """Those it is known to take, for requests whose words were translated; they count
    where `extra_params` is None."""
    hedge_after_s: float | None = None
    """How long 95 % of its answers take to begin. None: not known well enough."""
    tags: frozenset[str] = frozenset()
    """What policies know it by."""
    fingerprint: str = ""
    """Of the model that answers: planners know it by that. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The workers a run may use, in the order in which the conductor sees them."""

    workers: tuple[PoolWorker, ...]
    fallback: str
    """Name of the worker that takes over when another one fails."""
    conductor_price: Price | None = None
    conductor_max_output_tokens: int = 2048
    conductor_context_tokens: int | None = None
    """None: unknown."""
    substitutes: tuple[str, ...] = ()
    """Names of workers that take over when the fallback worker fails too, in order."""
    retries_refusals: bool = False
    """True: another worker is asked after one has refused the content. False: the
    refusal is the answer."""
    embedder: PoolWorker | None = None
    """Makes the vector of the prompt for the planner, and is in no plan. None: the
    planner needs none, or this run may not use the worker that makes it."""

    @property
    def callable_workers(self) -> tuple[PoolWorker, ...]:
        """Return all workers that the run may call."""
        return self.workers + ((self.embedder,) if self.embedder else ())

    def worker(self, name: str) -> PoolWorker:
        """Return the worker called `name`. Raises: KeyError."""
        for worker in self.workers:
            if worker.name == name:
                return worker
        raise KeyError(name)

    @property
    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprints of the workers' models by the workers' names."""
        return {worker.name: worker.fingerprint for worker in self.workers}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all workers, in order."""
        return tuple(worker.name for worker in self.workers)


# --- model calls ---------------------------------------------------------------------

CONTENT_FILTER = "content_filter"
"""`CallEnd.finish_reason` of an answer that the provider withheld, in part or whole."""
CONDUCTOR = ""
"""`Call.worker` of a call to the conductor model. Workers never have an empty name."""


@dataclass(frozen=True, slots=True)
class Call:
    """One outbound request to a model."""

    worker: str
    """Name of the worker, or CONDUCTOR."""
    messages: Messages
    params: CallParams
    is_streamed: bool = True
    """False: no client waits for single tokens, so one plain answer is enough."""
    is_continued: bool = False
    """True: the last message is the beginning of the answer; the model goes on."""
    has_substitute: bool = False
    """True: another worker can take over if this one does not begin its answer."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call as it arrives."""

    index: int
    """Which of the answer's calls, from 0."""
    id: str = ""
    """With the first piece."""
    name: str = ""
    """With the first piece."""
    arguments: str = ""
    """The next characters of the JSON text."""


class Delta(NamedTuple):  # one for each token: a tuple is the quickest to make
    """A piece of a model's answer as it arrives."""

    text: str = ""
    reasoning: str = ""
    """Hidden thinking, if the provider shows it apart from the answer."""
    tool_calls: tuple[ToolCallDelta, ...] = ()


@dataclass(frozen=True, slots=True)
class CallEnd:
    """The last item of a complete answer."""

    usage: Usage | None = None
    """None: the provider gave none; the engine then estimates."""
    finish_reason: str = "stop"
    """stop, length, tool_calls or content_filter."""
    model: str = ""
    """The model the provider says it used."""
    stop_sequence: str = ""
    """Which of `CallParams.stop` ended the answer, if the provider says so."""
    vectors: tuple[bytes, ...] = ()
    """Of an embedding worker: one for each message, see `PromptVector`."""
    refusal: str = ""
    """Why there is no more of it, in the words of the model or its provider; with the
    reason CONTENT_FILTER. Empty: nobody says why."""


class ModelClient(Protocol):
    """Calls a model and streams its answer."""

    def stream(self, call: Call) -> AsyncIterator[Delta | CallEnd]:
        """Yield deltas, then exactly one CallEnd.

        Closing the iterator closes the provider's socket.
        Raises: CallFailed. A stream that ends without CallEnd counts as incomplete.
        """
        ...


# --- planning ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How one step of an earlier round ended, as the planner may see it."""

    step: PlannedStep
    state: Literal["completed", "failed", "skipped"]
    text: str
    """The response, or why it failed."""


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """An earlier round of the same run."""

    plan: Plan
    outcomes: tuple[StepOutcome, ...]
    answer: str
    """Response of its last step; empty if it failed."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A plan that was refused in this round."""

    output: str
    """What the conductor wrote."""
    reason: str


async def _accepted(plan: Plan) -> PlanPreview:
    return "accepted"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Everything a planner may know when it is asked for a plan."""

    task: Task
    pool: Pool
    max_steps: int
    rounds: tuple[RoundOutcome, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    may_keep: bool = False
    """True if there is an answer already: three empty lists then mean "keep it"."""
    preview: Callable[[Plan], Awaitable[PlanPreview]] = field(
        default=_accepted, compare=False, repr=False
    )
    """Says what would become of a plan now. Records nothing."""
    may_delegate: bool = False
    """True: the last step's worker may be asked to plan the rest."""
    vector: Callable[[], Awaitable[PromptVector]] = field(
        default=no_vector, compare=False, repr=False
    )
    """Has `pool.embedder` make the vector of the prompt, once in a run; the call is
    recorded, metered and limited."""


@dataclass(frozen=True, slots=True)
class ConductorReply:
    """A complete answer of the conductor model."""

    text: str
    finish_reason: str = "stop"


Ask = Callable[[Messages, CallParams], Awaitable[ConductorReply]]
"""Calls the conductor model; the engine records, meters and limits the call."""


class Planner(Protocol):
    """Decides who does what."""

    @property
    def name(self) -> str:
        """Say in one word what kind of planner this is; recorded with each plan."""
        ...

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return a plan, or None to keep the present answer.

        Raises: PlanRejected if the conductor's text holds no usable plan;
        whatever `ask` raises.
        """
        ...


# --- recording, control, display -----------------------------------------------------


class Recorder(Protocol):
    """Writes events to the ledger."""

    async def record(self, *events: Event) -> None:
        """Return once all `events`, in order, are durable. All or none are.

        When cancelled it waits for the outcome before it raises CancelledError, so a
        CancelledError means durable too.
        """
        ...


class Progress(NamedTuple):
    """A piece of text on its way to clients and watchers; never stored."""

    round: int
    step: int | None
    """None: the conductor's own text."""
    attempt: int
    text: str = ""
    """As the model wrote it, thinking and all."""
    reasoning: str = ""
    answer: str = ""
    """What of it goes out to the caller: `<think>` blocks removed, never repeated."""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    """What goes out to the caller after `answer`."""

    @property
    def is_answer(self) -> bool:
        """Say whether anything goes out to the caller."""
        return bool(self.answer or self.tool_calls)


class ProgressSink(Protocol):
    """Shows a run to those who watch it."""

    def emit(self, progress: Progress) -> None:
        """Take a piece of text. Must not block and must not raise."""
        ...

    def event(self, event: Event) -> None:
        """Take an event that is durable now. Must not block and must not raise."""
        ...


@dataclass(frozen=True, slots=True)
class PlanFunds:
    """What a plan may cost."""

    limit_micros: int | None
    """The limit of the whole run. None: there is none."""
    costs: StepCosts | None = None
    """By which the money is divided among the steps. None: there is enough for all."""


class Funds(Protocol):
    """What a run may spend, and whether a plan likely fits in it."""

    async def cover(self, plan: Plan, limits: Limits, spent_micros: int) -> PlanFunds:
        """Return the cost limit under which the plan can likely end.

        It is that of `limits`, or a higher one that has just been set aside.
        `spent_micros`: by the run so far. Raises: RunDenied if there is none.
        """
        ...


def _cancelled() -> str:
    return "cancelled"


@dataclass(frozen=True, slots=True)
class Ports:
    """All that one run needs from outside."""

    planner: Planner
    client: ModelClient
    recorder: Recorder
    gate: Gate
    progress: ProgressSink
    stop_reason: Callable[[], str | None] = _cancelled
    """Why the run's task was cancelled; None: the process stops, so the run stays
    open for the process that resumes it."""
    random: random.Random = field(default_factory=random.Random)
    """For the jitter of retries."""
    rest_planner: RestPlanner | None = None
    """None: no plan may leave the rest to a worker."""
    funds: Funds | None = None
    """None: no budget binds the run."""
