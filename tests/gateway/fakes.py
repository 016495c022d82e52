"""A scripted run, a backend without a database, and a client that speaks bare ASGI."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from apps.accounts.principal import KeyPrincipal
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import ConductorError, NotAuthenticated, NotFound
from apps.engine.events import (
    PlanAccepted,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    StepCompleted,
    StepStarted,
)
from apps.engine.ports import Progress
from apps.engine.usage import Cost, Usage
from apps.gateway.model_facts import ModelFacts
from apps.presets.composing import ComposedPrompt, PresetCall
from apps.runs.errors import IdempotencyConflict
from apps.runs.types import (
    Listener,
    LiveRun,
    RunOrder,
    RunRecord,
    RunSummary,
    Signal,
    StepSummary,
)

RUN_ID = uuid.UUID("01890000-0000-7000-8000-000000000001")
TEAM_ID = uuid.UUID("01890000-0000-7000-8000-000000000002")
KEY = "cdk_good"
USAGE = Usage(prompt_tokens=120, completion_tokens=30, cached_tokens=20)
MODELS = (
    "conductor-mini",
    "conductor-ultra",
    "lab/mini",
    "lab/ultra",
    "worker/writer",
)
STEP = StepSummary(
    round=0,
    index=0,
    worker="writer",
    subtask="Write it.",
    access=(),
    state="completed",
    attempts=2,
    usage=Usage(100, 25),
    cost=Cost(1200),
    latency_ms=900,
)


def holder(*scopes: str, always_include_usage: bool = False) -> KeyHolder:
    """Return the holder of KEY."""
    return KeyHolder(
        team_id=TEAM_ID,
        team_slug="orchestra",
        team_name="Orchestra",
        key_id=uuid.UUID(int=7),
        display="laptop",
        scopes=frozenset(scopes or ("runs:create", "workers:direct")),
        always_include_usage=always_include_usage,
        created_by_id=None,
        expires_at=datetime(2100, 1, 1, tzinfo=UTC),
    )


def completed(answer: str = "42", **changes: Any) -> RunCompleted:
    """Return a good end."""
    values: dict[str, Any] = {
        "answer": answer,
        "finish_reason": "stop",
        "usage": USAGE,
        "cost_micros": 1234,
        "has_unknown_cost": False,
        "latency_ms": 950,
        "overhead_ms": 3,
    }
    return RunCompleted(**{**values, **changes})


def failed(code: str, message: str = "it went wrong") -> RunFailed:
    """Return a bad end."""
    return RunFailed(code, message, "", USAGE, 1234, False, 950, 3)


def answer_piece(text: str) -> Progress:
    """Return a token of the answer."""
    return Progress(round=0, step=1, attempt=1, text=text, answer=text)


def plan() -> PlanAccepted:
    """Return a plan of two steps."""
    return PlanAccepted(
        round=0,
        planner="conductor",
        workers=("scout", "writer"),
        access=((), (0,)),
        skipped=(),
        subtasks=("Find the facts", "Write it down"),
        reasoning="",
    )


def step_started(step: int, worker: str, attempt: int = 1) -> StepStarted:
    """Return the start of a step of `plan`."""
    return StepStarted(0, step, attempt, worker, "[]")


def step_completed(step: int, worker: str) -> StepCompleted:
    """Return the end of a step of `plan` after 3.2 seconds."""
    return StepCompleted(
        0, step, 1, worker, "text", "", "stop", "m", USAGE, None, 3210, None
    )


CREATED = RunCreated("question", "mini", "pool", 1, "conductor", True, {})


class FakeRun:
    """A run that says what the test tells it to say."""

    def __init__(self) -> None:
        self.id = RUN_ID
        self.ignored = ""
        self.cancelled_for: list[str] = []
        self.cancelled = asyncio.Event()
        self.heard = asyncio.Event()
        """Set once somebody listens."""
        self._listeners: list[Listener] = []
        self._script: tuple[Signal, ...] = ()
        self._end: asyncio.Future[RunSummary] = asyncio.Future()

    def plays(self, *signals: Signal) -> FakeRun:
        """Say `signals` as soon as somebody waits for the end."""
        self._script = signals
        return self

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)
        self.heard.set()

    def unlisten(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    def cancel(self, reason: str) -> None:
        self.cancelled_for.append(reason)
        self.cancelled.set()
        self.say(RunCancelled(reason, USAGE, 0, False, 1, 1))

    async def finished(self) -> RunSummary:
        script, self._script = self._script, ()
        self.say(CREATED, *script)
        return await asyncio.shield(self._end)

    def say(self, *signals: Signal) -> None:
        """Let all listeners hear `signals`; a terminal event ends the run."""
        for signal in signals:
            for listener in list(self._listeners):
                listener(signal)
            is_end = isinstance(signal, RunCompleted | RunFailed | RunCancelled)
            if is_end and not self._end.done():
                self._end.set_result(summary(signal, self.id))  # type: ignore[arg-type]

    def breaks(self, error: Exception) -> FakeRun:
        """Make `finished` raise."""
        self._end.set_exception(error)
        return self


def summary(
    end: RunCompleted | RunFailed | RunCancelled, run_id: uuid.UUID = RUN_ID
) -> RunSummary:
    """Return the summary of a run that ended so."""
    return RunSummary(
        run_id=run_id,
        end=end,
        steps=(STEP,),
        planner="conductor",
        orchestration_usage=Usage(20, 5),
        orchestration_cost=Cost(34),
        worker="writer",
        has_estimated_usage=True,
    )


@dataclass
class FakeBackend:
    """Knows one key and starts the run it was given."""

    run: FakeRun
    caller: KeyHolder = field(default_factory=holder)
    refusal: Exception | None = None
    orders: list[RunOrder] = field(default_factory=list)
    live: dict[tuple[uuid.UUID, uuid.UUID], LiveRun] = field(default_factory=dict)
    """Runs that are found, by team and id."""
    records: dict[tuple[uuid.UUID, uuid.UUID], RunRecord] = field(default_factory=dict)
    aside: RunRecord | None = None
    """What is on record of a run that another process executes; None: none does."""
    askers: dict[tuple[uuid.UUID, uuid.UUID], str] = field(default_factory=dict)
    claims: dict[tuple[uuid.UUID, str], tuple[bytes, uuid.UUID]] = field(
        default_factory=dict
    )

    async def authenticate(self, raw_key: str) -> KeyHolder:
        if raw_key != KEY:
            raise NotAuthenticated("the key is not known here")
        return self.caller

    async def models(self, holder: KeyHolder) -> dict[str, ModelFacts]:
        facts = ModelFacts(8_192, 1_024, False, ("max_tokens",))
        return dict.fromkeys(MODELS if holder.team_id == TEAM_ID else (), facts)

    async def start_run(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> LiveRun:
        self.orders.append(order)
        if self.refusal is not None:
            raise self.refusal
        if run_id is not None:
            self.run.id = run_id
        return self.run

    async def start_detached(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> LiveRun | RunRecord:
        live = await self.start_run(order, run_id)
        if self.aside is None:
            return live
        kept = replace(self.aside, run_id=live.id)
        self.records[order.team_id, live.id] = kept
        return kept

    async def stop_run(
        self, team_id: uuid.UUID, run_id: uuid.UUID, actor: Actor, reason: str
    ) -> bool:
        live = self.find_run(team_id, run_id)
        if live is None:
            return False
        live.cancel(reason)
        record = self.records[team_id, run_id]
        ended = replace(record, summary=await live.finished())
        self.records[team_id, run_id] = ended
        return True

    def find_run(self, team_id: uuid.UUID, run_id: uuid.UUID) -> LiveRun | None:
        return self.live.get((team_id, run_id))

    async def is_over(self, team_id: uuid.UUID, run_id: uuid.UUID) -> bool:
        return (await self.run_record(team_id, run_id)).summary is not None

    async def run_record(self, team_id: uuid.UUID, run_id: uuid.UUID) -> RunRecord:
        try:
            return self.records[team_id, run_id]
        except KeyError:
            raise NotFound(f"there is no run {str(run_id)!r}") from None

    async def asking_worker(self, team_id: uuid.UUID, run_id: uuid.UUID) -> str:
        return self.askers.get((team_id, run_id), "")

    async def compose_preset(
        self, principal: KeyPrincipal, call: PresetCall
    ) -> ComposedPrompt:
        raise NotFound(f"there is no preset {str(call.preset_id)!r}")

    async def holder(
        self, team_id: uuid.UUID, key: str, digest: bytes
    ) -> uuid.UUID | None:
        held = self.claims.get((team_id, key))
        return held and held[1]

    async def claim(
        self, team_id: uuid.UUID, key: str, digest: bytes, run_id: uuid.UUID
    ) -> uuid.UUID:
        held = self.claims.setdefault((team_id, key), (digest, run_id))
        if held[0] != digest:
            raise IdempotencyConflict("this key was used with another body")
        return held[1]

    async def release(self, team_id: uuid.UUID, key: str, run_id: uuid.UUID) -> None:
        if self.claims.get((team_id, key), (b"", None))[1] == run_id:
            del self.claims[team_id, key]

    def refuses(self, error: ConductorError | Exception) -> FakeBackend:
        """Make `start_run` raise."""
        self.refusal = error
        return self


class Exchanged:
    """One request of the test's client, and what came back so far."""

    def __init__(
        self, method: str, path: str, parts: list[bytes], headers: Any
    ) -> None:
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path.partition("?")[0],
            "query_string": path.partition("?")[2].encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 5000),
        }
        self.messages: list[Any] = []
        self.parts_read = 0
        self.gate = asyncio.Event()
        """Clear: the client takes nothing more."""
        self.gate.set()
        self.blocked = asyncio.Event()
        """Set once a piece has been waiting at the gate."""
        self.noticed = asyncio.Event()
        """Set once the application has been told that the client left."""
        self.breaks: OSError | None = None
        """Set: the connection is closed, as ASGI tells it."""
        self._parts = parts
        self._parts_sent = len(parts)
        self._is_gone = asyncio.Event()
        self._news = asyncio.Event()

    def keep_body_back(self, after: int = 0) -> None:
        """Announce a body and send only its first parts."""
        self._parts_sent = after

    def leave(self) -> None:
        """Close the connection."""
        self._is_gone.set()

    async def receive(self) -> Any:
        if self.parts_read < min(len(self._parts), self._parts_sent):
            part = self._parts[self.parts_read]
            self.parts_read += 1
            has_more = self.parts_read < len(self._parts)
            return {"type": "http.request", "body": part, "more_body": has_more}
        await self._is_gone.wait()
        self.noticed.set()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if not self.gate.is_set():
            self.blocked.set()
        await self.gate.wait()
        if self.breaks is not None:
            raise self.breaks
        self.messages.append(message)
        self._news.set()

    async def until(self, is_true: Callable[[], bool]) -> None:
        """Wait until `is_true` after one of the answer's pieces."""
        async with asyncio.timeout(5):
            while not is_true():
                self._news.clear()
                await self._news.wait()

    # --- what came back --------------------------------------------------------------

    @property
    def status(self) -> int:
        status: int = self.messages[0]["status"]
        return status

    @property
    def headers(self) -> dict[str, str]:
        return {n.decode(): v.decode() for n, v in self.messages[0]["headers"]}

    @property
    def pieces(self) -> list[bytes]:
        return [message["body"] for message in self.messages[1:]]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def is_complete(self) -> bool:
        return len(self.messages) > 1 and not self.messages[-1]["more_body"]

    @property
    def lines(self) -> list[bytes]:
        """The data of every event, in order."""
        return [e.removeprefix(b"data: ") for e in self.body.split(b"\n\n") if e]

    @property
    def chunks(self) -> list[Any]:
        """The events that are JSON."""
        return [orjson.loads(line) for line in self.lines if line != b"[DONE]"]

    def deltas(self, name: str) -> list[str]:
        """Return the values of one field of all deltas, empty ones left out."""
        choices = [c for chunk in self.chunks for c in chunk.get("choices", ())]
        return [c["delta"][name] for c in choices if c["delta"].get(name)]
