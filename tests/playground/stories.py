"""Runs as they are recorded, told event by event, for tests and previews."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson

from apps.engine.events import (
    ApprovalRequested,
    ApprovalSettled,
    Event,
    PlanAccepted,
    PlanRejectedEvent,
    PlanReplied,
    PlanRequested,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    StepAttemptFailed,
    StepCompleted,
    StepFailed,
    StepSkipped,
    StepStarted,
)
from apps.engine.usage import Usage
from apps.runs.types import RecordedEvent

RUN_ID = UUID(int=7)
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PROMPT = "Compare PostgreSQL and SQLite for a team of ten, and recommend one."
REASONING = (
    "The question needs facts about two databases, which are independent of each "
    "other, and then a judgement. Two strong workers gather in parallel; a third one "
    "weighs both and writes the recommendation."
)
ANSWER = """**Use PostgreSQL** if more than one person writes at the same time.

| | PostgreSQL | SQLite |
|---|---|---|
| Writers | many | one at a time |
| Operations | a server to run | a file |

1. Start with SQLite for prototypes.
2. Move when you need *concurrent writes*:

```python
DATABASES = {"default": env.db("DATABASE_URL")}
```

See the [documentation](https://www.postgresql.org/docs/)."""


class Recording:
    """Collects events with sequence numbers and times."""

    def __init__(self) -> None:
        self.entries: list[RecordedEvent] = []
        self.first_seq = 40

    def at(self, milliseconds: int, *events: Event) -> Recording:
        """Record `events` so many milliseconds after the run began."""
        for event in events:
            seq = self.first_seq + len(self.entries)
            moment = START + timedelta(milliseconds=milliseconds)
            self.entries.append(RecordedEvent(seq, moment, event))
        return self


def messages(text: str) -> str:
    """Return one user message as the ledger keeps it."""
    return orjson.dumps([{"role": "user", "content": text}]).decode()


def created(prompt: str = PROMPT) -> RunCreated:
    """Return the first event of a run."""
    limits: dict[str, int | None] = {"max_steps": 5, "wall_time_ms": 900_000}
    return RunCreated(prompt, "ultra", "default", 3, "llm", True, limits)


def replied(
    attempt: int = 1, *, output: str = REASONING, round_: int = 0, ms: int = 840
) -> PlanReplied:
    """Return a complete answer of the conductor."""
    usage = Usage(1240, 210)
    return PlanReplied(round_, attempt, output, "stop", "conductor-7b", usage, 412, ms)


def accepted(
    *access: tuple[int, ...],
    workers: tuple[str, ...] = ("claude-sonnet-4", "gpt-5", "gemini-2.5-pro"),
    skipped: tuple[int, ...] = (),
    planner: str = "llm",
    round_: int = 0,
) -> PlanAccepted:
    """Return a plan with one step per access list."""
    tasks = (
        "List the strengths and limits of PostgreSQL for a team of ten: concurrency, "
        "operations, backups, cost.",
        "List the strengths and limits of SQLite for a team of ten: concurrency, "
        "operations, backups, cost.",
        "Weigh both lists and recommend one, with a short table.",
        "Check the recommendation against the question.",
        "Write the final answer.",
    )
    size = len(access)
    names = tuple(workers[i % len(workers)] for i in range(size))
    return PlanAccepted(
        round_, planner, names, access, skipped, tasks[:size], REASONING
    )


def started(step: int, worker: str, attempt: int = 1, round_: int = 0) -> StepStarted:
    """Return the start of a call."""
    sent = messages(f"{PROMPT}\n\nYour subtask: step {step + 1}")
    return StepStarted(round_, step, attempt, worker, sent)


def completed(
    step: int,
    worker: str,
    text: str = "Done.",
    *,
    ms: int = 3000,
    cost: int | None = 5400,
    attempt: int = 1,
    reasoning: str = "",
    round_: int = 0,
) -> StepCompleted:
    """Return the complete answer of a worker."""
    return StepCompleted(
        round_, step, attempt, worker, text, reasoning, "stop", worker,
        Usage(620, 480), cost, ms, 380,
    )  # fmt: skip


def attempt_failed(
    step: int, worker: str, attempt: int = 1, fault: str = "rate_limited"
) -> StepAttemptFailed:
    """Return a call that did not end in an answer."""
    message = f"worker {worker!r} answered 429; asked to wait 2 s"
    return StepAttemptFailed(0, step, attempt, worker, fault, message, Usage(), 0, 210)


def run_completed(answer: str = ANSWER, *, unknown: bool = False) -> RunCompleted:
    """Return the good end."""
    usage = Usage(3100, 1650)
    return RunCompleted(answer, "stop", usage, 16_612, unknown, 7920, 61)


def planning() -> list[RecordedEvent]:
    """The conductor is being asked for the first plan."""
    return (
        Recording()
        .at(0, created())
        .at(12, PlanRequested(0, 1, messages("Plan.")))
        .entries
    )


def parallel() -> list[RecordedEvent]:
    """Two independent steps run, the third waits for both."""
    recording = Recording().at(0, created())
    recording.at(12, PlanRequested(0, 1, messages("Plan."))).at(852, replied())
    recording.at(860, accepted((), (), (0, 1)))
    return recording.at(866, started(0, "claude-sonnet-4"), started(1, "gpt-5")).entries


def finished(*, unknown: bool = False) -> list[RecordedEvent]:
    """A run of three steps ended well."""
    recording = Recording()
    recording.entries = parallel()
    recording.at(
        3900,
        completed(1, "gpt-5", "SQLite is a file: **no server**.", ms=3030,
                  cost=None if unknown else 5400, reasoning="First, concurrency."),
    )  # fmt: skip
    recording.at(4700, completed(0, "claude-sonnet-4", "- MVCC\n- Roles", ms=3830))
    recording.at(4706, started(2, "gemini-2.5-pro"))
    recording.at(7900, completed(2, "gemini-2.5-pro", ANSWER, ms=3190))
    return recording.at(7920, run_completed(unknown=unknown)).entries


def answered(text: str, subtask: str = "") -> list[RecordedEvent]:
    """One worker was asked directly and answered with `text`."""
    plan = accepted((), workers=("gpt-5",), planner="direct")
    if subtask:
        plan = replace(plan, subtasks=(subtask,))
    recording = Recording().at(0, created()).at(1, plan).at(2, started(0, "gpt-5"))
    recording.at(3960, completed(0, "gpt-5", text))
    return recording.at(3960, run_completed(text)).entries


def rescued() -> list[RecordedEvent]:
    """A step was retried, then handed to the fallback worker, and ended well."""
    recording = Recording().at(0, created())
    recording.at(10, PlanRequested(0, 1, messages("Plan."))).at(700, replied(ms=680))
    recording.at(705, accepted((), (0,), workers=("gpt-5", "qwen3-32b")))
    recording.at(710, started(0, "gpt-5")).at(920, attempt_failed(0, "gpt-5"))
    recording.at(2950, started(0, "gpt-5", 2))
    recording.at(4100, attempt_failed(0, "gpt-5", 2, "server_error"))
    recording.at(4110, started(0, "qwen3-32b", 3))
    recording.at(6400, completed(0, "qwen3-32b", "Facts.", attempt=3, ms=2290))
    recording.at(6410, started(1, "qwen3-32b"))
    recording.at(8800, completed(1, "qwen3-32b", ANSWER, ms=2390))
    return recording.at(8810, run_completed()).entries


def failed() -> list[RecordedEvent]:
    """All attempts of a step failed, so the run did, too."""
    recording = Recording().at(0, created())
    recording.at(10, PlanRequested(0, 1, messages("Plan."))).at(700, replied(ms=680))
    recording.at(705, accepted((), (), (0, 1), (2,)))
    recording.at(710, started(0, "claude-sonnet-4"), started(1, "gpt-5"))
    recording.at(920, attempt_failed(1, "gpt-5"))
    recording.at(2950, started(1, "gpt-5", 2))
    recording.at(3160, attempt_failed(1, "gpt-5", 2, "connect"))
    recording.at(3170, StepFailed(0, 1, "connect", "no connection within 5 s"))
    recording.at(4540, completed(0, "claude-sonnet-4", "- MVCC\n- Roles", ms=3830))
    for step in (2, 3):
        recording.at(4550, StepSkipped(0, step, "It reads a step that failed."))
    end = RunFailed(
        "worker_failed", "step 2 failed: no connection to worker 'gpt-5'",
        "- MVCC\n- Roles", Usage(1860, 690), 5812, False, 4560, 44,
    )  # fmt: skip
    return recording.at(4560, end).entries


def planned_again() -> list[RecordedEvent]:
    """A step failed; a second plan led to the answer."""
    recording = Recording().at(0, created())
    recording.at(10, PlanRequested(0, 1, messages("Plan."))).at(700, replied(ms=680))
    recording.at(705, accepted((), (), (0, 1)))
    recording.at(710, started(0, "claude-sonnet-4"), started(1, "gpt-5"))
    recording.at(1600, completed(0, "claude-sonnet-4", "- MVCC\n- Roles", ms=890))
    recording.at(1920, attempt_failed(1, "gpt-5", 1, "connect"))
    recording.at(1930, StepFailed(0, 1, "connect", "no connection within 5 s"))
    recording.at(
        1940, StepSkipped(0, 2, "another step failed, so the work is planned again")
    )
    recording.at(1950, PlanRequested(1, 1, messages("Plan again.")))
    recording.at(2700, replied(round_=1, ms=740))
    recording.at(2710, accepted((), workers=("gemini-2.5-pro",), round_=1))
    recording.at(2720, started(0, "gemini-2.5-pro", round_=1))
    recording.at(4400, completed(0, "gemini-2.5-pro", ANSWER, ms=1670, round_=1))
    return recording.at(4410, run_completed()).entries


def cancelled() -> list[RecordedEvent]:
    """Somebody stopped the run while two steps were running."""
    recording = Recording()
    recording.entries = parallel()
    end = RunCancelled("stopped by alice", Usage(1240, 210), 412, True, 2400, 20)
    return recording.at(2400, end).entries


def rejected() -> list[RecordedEvent]:
    """The first plan was refused; the second one has a step nobody needs."""
    recording = Recording().at(0, created())
    recording.at(10, PlanRequested(0, 1, messages("Plan.")))
    recording.at(
        700, replied(ms=680, output="model_id = [0, 9]\nsubtasks = ['a', 'b']")
    )
    recording.at(
        702, PlanRejectedEvent(0, "unknown_worker", "step 1 names worker 9 of 3")
    )
    recording.at(705, PlanRequested(0, 2, messages("Plan again.")))
    recording.at(1500, replied(2, ms=790))
    recording.at(1510, accepted((), (), (0,), (0, 2), (0, 1, 2, 3), skipped=()))
    recording.at(1515, started(0, "claude-sonnet-4"), started(1, "gpt-5"))
    return recording.entries


def chained() -> list[RecordedEvent]:
    """Five steps, each reading all before it; the second is not needed."""
    recording = Recording().at(0, created())
    recording.at(10, PlanRequested(0, 1, messages("Plan."))).at(700, replied(ms=680))
    plan = accepted((), (0,), (0,), (0, 2), (0, 2, 3), skipped=(1,))
    skipped = StepSkipped(0, 1, "the answer does not depend on it")
    recording.at(710, plan, skipped).at(715, started(0, "claude-sonnet-4"))
    recording.at(2000, completed(0, "claude-sonnet-4", "Facts.", ms=1280))
    return recording.at(2010, started(2, "gemini-2.5-pro")).entries


PNG = "data:image/png;base64," + "A" * 4_000
FOREIGN = "https://tracker.example.org/pixel.png"
TOOL_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"term": "<b>MVCC</b>"}'},
}
CONVERSATION: list[dict[str, object]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": PROMPT},
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "image_url", "image_url": {"url": FOREIGN}},
        ],
    },
]


def called_tools() -> list[RecordedEvent]:
    """A question with images and tools; the answer calls a tool."""
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
    params = {"messages": CONVERSATION, "tools": [tool], "delivery": "verified"}
    calls = orjson.dumps([TOOL_CALL]).decode()
    opening = replace(created(), params=orjson.dumps(params).decode())
    sent = orjson.dumps(
        [
            {"role": "system", "content": "Be brief."},
            *CONVERSATION,
            {"role": "assistant", "content": "", "tool_calls": [TOOL_CALL]},
            {"role": "tool", "content": "Found it.", "tool_call_id": "call_1"},
        ]
    ).decode()
    plan = accepted((), workers=("gpt-5",), planner="tool_continuation")
    recording = Recording().at(0, opening).at(5, plan)
    recording.at(10, replace(started(0, "gpt-5"), messages=sent))
    answer = replace(
        completed(0, "gpt-5", ""), finish_reason="tool_calls", tool_calls=calls
    )
    end = replace(run_completed(""), finish_reason="tool_calls", tool_calls=calls)
    return recording.at(3010, answer).at(3020, end).entries


def raced(*, quicker: int = 2) -> list[RecordedEvent]:
    """A late worker got a rival; one of both answered, the other was closed."""
    recording = Recording().at(0, created()).at(5, accepted((), workers=("slow",)))
    recording.at(10, started(0, "slow")).at(900, started(0, "quick", 2))
    names = {1: "slow", 2: "quick"}
    beaten = 3 - quicker
    closed = attempt_failed(0, names[beaten], beaten, "cancelled")
    recording.at(1500, closed)
    won = completed(0, names[quicker], ANSWER, attempt=quicker)
    return recording.at(2000, won).at(2010, run_completed()).entries


def put_right() -> list[RecordedEvent]:
    """An answer in a wrong form was put right by who had given it."""
    recording = Recording().at(0, created()).at(5, accepted((), workers=("gpt-5",)))
    recording.at(10, started(0, "gpt-5"))
    recording.at(900, attempt_failed(0, "gpt-5", 1, "invalid_output"))
    recording.at(910, started(0, "gpt-5", 2))
    recording.at(1900, completed(0, "gpt-5", "{}", attempt=2))
    return recording.at(1910, run_completed("{}")).entries


def went_on() -> list[RecordedEvent]:
    """A worker broke off in the midst of the answer; the next one went on."""
    recording = Recording().at(0, created()).at(5, accepted((), workers=("gpt-5",)))
    recording.at(10, started(0, "gpt-5"))
    recording.at(900, attempt_failed(0, "gpt-5", 1, "incomplete"))
    sent = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": ANSWER[:20]},
    ]
    again = replace(started(0, "qwen3-32b", 2), messages=orjson.dumps(sent).decode())
    recording.at(910, again).at(1900, completed(0, "qwen3-32b", ANSWER, attempt=2))
    return recording.at(1910, run_completed()).entries


def held() -> list[RecordedEvent]:
    """The plan waits for people to approve it."""
    recording = Recording().at(0, created())
    recording.at(12, PlanRequested(0, 1, messages("Plan."))).at(852, replied())
    request = ApprovalRequested(
        0, "llm", "digest", 1, "2026-03-02T10:30:00+00:00", ("Four eyes",), "By rule.",
        None, ("gpt-5",), ((),), ("Answer.",), REASONING,
    )  # fmt: skip
    return recording.at(860, request).entries


def approved() -> list[RecordedEvent]:
    """The plan waited for three minutes, then a call took one second."""
    recording = Recording()
    recording.entries = held()
    settled = ApprovalSettled(0, "digest", "approved", ("Alice",), False, "")
    plan = accepted((), workers=("gpt-5",))
    recording.at(180_860, settled, plan, started(0, "gpt-5"))
    recording.at(181_860, completed(0, "gpt-5", "Rome.", ms=1000))
    usage = Usage(620, 480)
    end = RunCompleted("Rome.", "stop", usage, 5400, False, 1870, 30)
    return recording.at(181_870, end).entries


ALL = {
    "held": held,
    "approved": approved,
    "called_tools": called_tools,
    "raced": raced,
    "put_right": put_right,
    "went_on": went_on,
    "planned_again": planned_again,
    "planning": planning,
    "parallel": parallel,
    "finished": finished,
    "rescued": rescued,
    "failed": failed,
    "cancelled": cancelled,
    "rejected": rejected,
    "chained": chained,
}
