"""Remembers what answered the turns of conversations, for those that follow them.

A turn is found by what was said before its answer: an API's chat history, a previous
response and a thread on the pages all send that again. Kept as a digest, in the process
that executed it and, where there is a Redis, for the others: what is forgotten costs a
provider's cache, never an answer.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import orjson

from apps.engine import events as ev
from apps.engine.messages import question_of
from apps.engine.plan import PlannedStep
from apps.engine.ports import Message, Messages
from apps.engine.replay import plan_on_record
from apps.planners.cascade import PlannerCascade
from apps.planners.language_model import LanguageModelPlanner
from apps.planners.light.templates import SUBTASKS
from apps.planners.stickiness import (
    CHARACTERS_PER_TOKEN,
    Appraiser,
    LastTurn,
    StickyPlanner,
)
from apps.planners.tool_continuation import ToolContinuationPlanner
from apps.runs.execution.circuit_breaker import CircuitBreakers, circuit_key
from apps.runs.execution.shared_turns import AnsweredTurn, SharedTurns
from apps.runs.models import NOT_BY_CALLERS
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

KEPT_S = 3_600.0
"""How long a turn is remembered, for the explanation; its cache is gone before."""
MAX_TURNS = 20_000
"""A bound on memory; the oldest turn is forgotten for a new one."""
Key = bytes


@dataclass(slots=True)
class TurnWatch:
    """Hears what answers a run."""

    prompt: str
    done: Callable[[tuple[PlannedStep, ...], bool], None]
    """Takes the steps of the answer, and whether it was a direct question."""
    _round: int = 0
    _steps: list[PlannedStep] = field(default_factory=list)
    _is_direct: bool = False

    def hear(self, signal: object) -> None:
        """Take a signal of the run."""
        match signal:
            case ev.PlanAccepted():
                self._round = signal.round
                self._steps = list(plan_on_record(signal).steps)
                self._is_direct = _is_direct(self._steps, self.prompt)
                self._steps = [_without_content(step) for step in self._steps]
            case ev.StepCompleted(round=number, step=index) if number == self._round:
                step = self._steps[index]
                self._steps[index] = replace(step, worker=signal.worker)
            case ev.RunCompleted() if self._steps:
                self.done(tuple(self._steps), self._is_direct)
            case _:
                pass


class ConversationMemory:
    """The latest turns that a process knows. Used on its event loop alone."""

    def __init__(self, shared: SharedTurns | None = None) -> None:
        """Take what the processes of the site share; None: this one is alone."""
        self._shared = shared
        self._turns: OrderedDict[Key, AnsweredTurn] = OrderedDict()

    def watch(self, order: RunOrder, history: Sequence[ev.Event] = ()) -> TurnWatch:
        """Return what remembers a run once it has its answer.

        `history`: what is on record of a run that is resumed.
        """
        key = _key(order, _said(order))

        def remember(steps: tuple[PlannedStep, ...], is_direct: bool) -> None:
            turn = AnsweredTurn(steps, is_direct, time.time())
            self._keep(key, turn)
            if self._shared is not None:
                self._shared.put(key, turn)

        watch = TurnWatch(order.prompt, remember)
        for event in history:
            watch.hear(event)
        return watch

    async def learn(self, order: RunOrder, resolved: ResolvedModel) -> None:
        """Ask the other processes for the turn before, if this one doesn't know it."""
        if self._shared is None or not can_stick(order, resolved):
            return
        before = _before_answer(_said(order))
        key = _key(order, before) if before else None
        if key is None or key in self._turns:
            return
        turn = await self._shared.find(key)
        if turn is not None:
            self._keep(key, turn)

    async def close(self) -> None:
        """Let go of what is shared."""
        if self._shared is not None:
            await self._shared.close()

    def _keep(self, key: Key, turn: AnsweredTurn) -> None:
        self._turns[key] = turn
        self._turns.move_to_end(key)
        if len(self._turns) > MAX_TURNS:
            self._turns.popitem(last=False)

    def last_turn(self, order: RunOrder) -> LastTurn | None:
        """Return what answered the turn before; None: there is none that is known."""
        before = _before_answer(_said(order))
        turn = self._turns.get(_key(order, before)) if before else None
        if turn is None:
            return None
        age_s = max(0.0, time.time() - turn.ended_at)
        if age_s > KEPT_S:
            return None
        earlier, now = question_of(before), question_of(order.messages)
        read = len(earlier) if turn.is_direct else _shared(earlier, now)
        tokens = read // CHARACTERS_PER_TOKEN
        return LastTurn(turn.steps, tokens, age_s, turn.is_direct)


def can_stick(order: RunOrder, resolved: ResolvedModel) -> bool:
    """Return whether the workers of a run are its planner's choice.

    They are not if the caller names one, or a test or an evaluation has a plan.
    """
    return not order.explores and _is_planned(order, resolved)


def is_remembered(order: RunOrder, resolved: ResolvedModel) -> bool:
    """Return whether a run can be the turn before another one that is planned."""
    has_tools = isinstance(resolved.planner, ToolContinuationPlanner)
    return has_tools or _is_planned(order, resolved)


def _is_planned(order: RunOrder, resolved: ResolvedModel) -> bool:
    if order.served_planner is not None or order.reused:
        return False
    if order.source in NOT_BY_CALLERS:
        return False
    planner = resolved.planner
    return isinstance(planner, LanguageModelPlanner | PlannerCascade | Appraiser)


def sticky(
    order: RunOrder,
    resolved: ResolvedModel,
    memory: ConversationMemory,
    circuits: CircuitBreakers,
) -> ResolvedModel:
    """Return how a run goes that follows another turn of a conversation."""
    if not can_stick(order, resolved):
        return resolved
    last = memory.last_turn(order)
    if order.continues:  # the worker that called the tools is not there
        step = PlannedStep(order.prompt, order.continues)
        last = LastTurn((step,), 0, 0.0, is_direct=True)
    if last is None:
        return resolved
    resting = frozenset(
        name
        for name, endpoint in resolved.endpoints.items()
        if circuits.is_open(circuit_key(order.team_id, endpoint))
    )
    planner = StickyPlanner(resolved.planner, replace(last, resting=resting))
    return replace(resolved, planner=planner)


def _is_direct(steps: Sequence[PlannedStep], prompt: str) -> bool:
    return len(steps) == 1 and steps[0].subtask == prompt


def _without_content(step: PlannedStep) -> PlannedStep:
    """Return a step without a subtask that a model wrote: memory holds no content."""
    is_fixed = step.subtask in SUBTASKS.values()
    return step if is_fixed else replace(step, subtask="")


def _said(order: RunOrder) -> Messages:
    return order.messages or (Message(role="user", content=order.prompt),)


def _before_answer(messages: Messages) -> Messages:
    """Return what was said before the last answer; nothing if there is none."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index]["role"] == "assistant":
            return messages[:index]
    return ()


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts begin with together."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _key(order: RunOrder, messages: Sequence[Message]) -> Key:
    """Return the digest of a conversation with a model: of each team its own.

    The sides of an A/B test are apart, so that neither decides for the other.
    """
    said = [
        [each["role"], _plain(each), each.get("tool_calls"), each.get("tool_call_id")]
        for each in messages
    ]
    arm = None if order.arm is None else [str(order.arm.test_id), order.arm.letter]
    head = [str(order.team_id), order.served_model, arm, said]
    return hashlib.sha256(orjson.dumps(head)).digest()


def _plain(message: Message) -> object:
    """Return the content in one form: clients send a text as parts as well."""
    content = message["content"]
    if isinstance(content, str):
        return content
    if all(part["type"] == "text" for part in content):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return content
