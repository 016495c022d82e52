"""What the pages show of a run's ledger entries.

Rounds, steps, attempts, calls to the conductor, totals; `run_view_builder.py` folds the
recorded events into it. There is no I/O and no layout here, so the same entries always
read the same, live, after a reload, or years later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from apps.engine.text import strip_thinking
from apps.engine.usage import Cost, Usage
from apps.playground.message_view import ShownCall

_THINKING = re.compile(r"(?:\A|<think>)((?:(?!<think>).)*?)</think>", re.DOTALL)
"""A block of thinking; some servers swallow the first opening tag."""
CLOSED_BY_US = "cancelled"
"""Fault of a call that was in flight when its run was stopped."""
OVER = frozenset({"completed", "failed", "cancelled"})
"""States of a run, and of a step, in which nothing more will happen to it."""


@dataclass(slots=True)
class CallView:
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
    note: str = ""
    """Why it was made beside or after other calls of its step, in words."""

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
    calls: list[CallView] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ShownCall, ...] = ()
    """What the response wants called."""
    answered_by: CallView | None = None
    """The call whose response stands; others may have been made after it."""
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
    def last_call(self) -> CallView | None:
        """Return the attempt that answered, else the latest."""
        return self.answered_by or (self.calls[-1] if self.calls else None)

    @property
    def running_calls(self) -> list[CallView]:
        """Return the attempts in flight; two of them are rivals."""
        return [call for call in self.calls if call.state == "running"]

    @property
    def live_attempt(self) -> int:
        """Return the number of the first attempt in flight; only one of them speaks."""
        return self.running_calls[0].number if self.running_calls else 0

    def call(self, number: int) -> CallView:
        """Return an attempt. Raises: StopIteration if there is none of that number."""
        return next(call for call in reversed(self.calls) if call.number == number)

    @property
    def worker(self) -> str:
        """Return the worker that really worked, or the planned one before that."""
        return self.last_call.worker if self.last_call else self.planned_worker

    @property
    def was_replaced(self) -> bool:
        """Say whether another worker than the planned one took over."""
        return self.worker != self.planned_worker

    @property
    def failed_calls(self) -> list[CallView]:
        """Return the attempts that ended without an answer."""
        return [call for call in self.calls if call.state in {"failed", "unknown"}]

    @property
    def message_is_news(self) -> bool:
        """Say whether no attempt that is shown has the step's message already."""
        return self.message not in {call.message for call in self.failed_calls}

    @property
    def beaten_calls(self) -> list[CallView]:
        """Return the attempts that were closed because another one was quicker."""
        if self.state != "completed":
            return []
        return [call for call in self.calls if call.state == "stopped"]

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
    calls: list[CallView] = field(default_factory=list)
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
    def key(self) -> str:
        """Return the round's name inside the page."""
        return str(self.index)

    @property
    def version(self) -> str:
        """Return a word that changes whenever the conductor's card must be redrawn."""
        return f"{self.touched}-{self.state}"

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
    tool_calls: tuple[ShownCall, ...] = ()
    """What the answer wants called."""
    finish_reason: str = ""
    is_conversation: bool = False
    """There is more to the question than the prompt: turns, images, tools, a form of
    the answer, sampling."""
    images: tuple[str, ...] = ()
    """What stands for the images of the question."""
    tools: tuple[str, ...] = ()
    """Names of the caller's tools."""
    form: str = ""
    """What form the answer was to have; empty: any."""
    delivery: str = ""
    """How the answer went out, if that was asked for: live or verified."""
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
    def writing(self) -> str:
        """Return the calls in flight by round, step and attempt, as the pages' script
        names them: `0-:1` is the conductor's, `0-2:1` one of step 3.
        """
        calls = [(f"{r.key}-", call) for r in self.rounds for call in r.calls]
        calls += [(step.key, call) for step in self.steps for call in step.calls]
        flying = [(key, call) for key, call in calls if call.state == "running"]
        return " ".join(f"{key}:{call.number}" for key, call in flying)

    @property
    def final_step(self) -> StepStory | None:
        """Return the step whose text is, or will be, the answer."""
        finals = [step for step in self.steps if step.is_final]
        return finals[-1] if finals else None

    @property
    def unplanned(self) -> RoundStory | None:
        """Return the round whose fallback plan is in force: there was no usable one."""
        planned = [round_ for round_ in self.rounds if round_.steps]
        return planned[-1] if planned and planned[-1].is_fallback else None

    @property
    def steps_planned(self) -> list[StepStory]:
        """Return the steps that were to be run."""
        return [step for step in self.steps if step.state != "skipped"]

    @property
    def has_spent(self) -> bool:
        """Say whether any call has ended, so that there are figures to show."""
        calls = [*self.planning_calls, *(c for step in self.steps for c in step.calls)]
        return self.is_over or any(call.state != "running" for call in calls)

    @property
    def planning_calls(self) -> list[CallView]:
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


def part_cost(usage: Usage, micros: int | None) -> Cost:
    """Return the cost of one call; unknown only if there was something to pay for."""
    if micros is None:
        return Cost(0, has_unknown=usage.total_tokens > 0)
    return Cost(micros)


def split_thinking(text: str) -> tuple[str, str]:
    """Return the thinking inside `<think>` blocks, and the text without them."""
    thoughts = "\n\n".join(part.strip() for part in _THINKING.findall(text))
    return thoughts, strip_thinking(text).strip()
